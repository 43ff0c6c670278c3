"""The events of a run, and how a node writes them to LangGraph's custom stream.

Every host sees the same: `{"event": name, "data": {…}}`, one a stream part.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypedDict

from pydantic import BaseModel, ConfigDict

from graph_agent.state import RunUsage, StopReason


class WireEvent(TypedDict):
    """An event as it travels: a stream part, a line of JSON, a Server-Sent Event."""

    event: str
    data: dict[str, Any]


class Event(BaseModel):
    """Base of all events; `channel` is the name that it travels under."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    channel: ClassVar[str]

    def wire(self) -> WireEvent:
        """Return the event as it travels."""
        return {"event": self.channel, "data": self.model_dump(mode="json")}


class ThinkingStart(Event):
    """The model is asked; `iteration` counts from 1."""

    channel = "step"
    type: Literal["thinking"] = "thinking"
    status: Literal["start"] = "start"
    iteration: int


class ThinkingDone(Event):
    """The model replied (or failed); `reasoning` is what it says about its move."""

    channel = "step"
    type: Literal["thinking"] = "thinking"
    status: Literal["done"] = "done"
    iteration: int
    reasoning: str


class CallStart(Event):
    """A tool call begins."""

    channel = "step"
    type: Literal["iteration"] = "iteration"
    status: Literal["start"] = "start"
    iteration: int
    call_id: str
    tool_name: str
    tool_args: dict[str, Any]


class CallDone(Event):
    """A tool call ended, well or badly."""

    channel = "step"
    type: Literal["iteration"] = "iteration"
    status: Literal["done"] = "done"
    iteration: int
    call_id: str
    tool_name: str
    tool_args: dict[str, Any]
    observation: str
    """What the model will read."""
    error: bool
    iter_elapsed: float
    """Seconds."""
    artifacts: list[dict[str, Any]]


class AnswerSignal(Event):
    """The loop is over; an answer comes next."""

    channel = "step"
    type: Literal["answer"] = "answer"
    status: Literal["start"] = "start"


class AnswerStart(Event):
    """The answer begins."""

    channel = "answer"
    status: Literal["start"] = "start"


class AnswerDelta(Event):
    """A piece of the answer."""

    channel = "answer"
    status: Literal["delta"] = "delta"
    content: str


class AnswerReset(Event):
    """Forget the pieces so far: the answer begins anew."""

    channel = "answer"
    status: Literal["reset"] = "reset"


class AnswerDone(Event):
    """The answer is complete."""

    channel = "answer"
    status: Literal["done"] = "done"


class Compacted(Event):
    """The prompt was made smaller."""

    channel = "compact"
    original_messages: int
    kept_messages: int


class SelectingTools(Event):
    """There are many tools, and the model is asked which ones it needs."""

    channel = "phase"
    phase: Literal["selecting_tools"] = "selecting_tools"
    total_tools: int


class Injected(Event):
    """The user's further words reached the run."""

    channel = "inject"
    type: Literal["inject"] = "inject"
    content: str
    ids: list[str]


class Approval(Event):
    """A call waits until a person decides about it; the run pauses and can be resumed."""

    channel = "approval"
    interrupt_id: str
    """By which the decision is given."""
    tool_name: str
    tool_args: dict[str, Any]
    call_id: str


class Done(Event):
    """The run ended with an answer."""

    channel = "done"
    answer: str
    iterations: int
    usage: RunUsage
    elapsed: float
    """Seconds."""
    stop_reason: StopReason
    thread_id: str
    run_id: str
    structured: dict[str, Any] | None = None
    """The answer as data; there only where they were asked for, and null where they failed."""

    def wire(self) -> WireEvent:
        """Return the event as it travels."""
        asked = "structured" in self.model_fields_set
        data = self.model_dump(mode="json", exclude=None if asked else {"structured"})
        return {"event": self.channel, "data": data}


class Failed(Event):
    """The run ended without an answer; no stack trace, no key."""

    channel = "error"
    code: str
    message: str


class End(Event):
    """Nothing follows."""

    channel = "end"


def emit(write: Callable[[Any], None], event: Event) -> None:
    """Write an event to a node's custom stream."""
    write(event.wire())
