"""What flows through the graph and is checkpointed: plain data only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from graph_agent.thread_messages import with_messages

MESSAGES_CHANNEL: Any = DeltaChannel(
    cast("Callable[[Any, Sequence[Any]], Any]", with_messages), snapshot_frequency=250
)
"""Saves each step's new messages only, so a thread grows linearly on disk.

Put `add_messages` here to save the whole list at every step instead; threads of both kinds open.
"""

Mode = Literal["native", "json"]
StopReason = Literal[
    "final",
    "max_iterations",
    "repeated_calls",
    "token_limit",
    "time_limit",
    "cancelled",
    "error",
]


class Usage(TypedDict):
    """Tokens and calls of one purpose."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    calls: int


class RunUsage(Usage):
    """Tokens and calls of one run, in all and by purpose (loop, synthesis, …)."""

    by_purpose: dict[str, Usage]


class Switched(TypedDict):
    """The model that took over from one that kept failing, and what the run had cost by then."""

    model: str
    """Its name."""
    usage: RunUsage
    spent: float
    """Money."""


class Resumed(TypedDict):
    """When a run was taken up again: the time while it stood still does not count."""

    run_id: str
    """LangGraph's, of the going on."""
    at: float
    """Unix time in seconds."""


class Turn(TypedDict):
    """What belongs to the run in progress; `select_tools` writes a new one for each."""

    run_id: str
    start: int
    """Index in `messages` of the question that this run answers."""
    started_at: float
    """Unix time in seconds."""
    switched: NotRequired[Switched]
    """Where a fallback model is in use, from then on for the rest of the run."""
    resumed: NotRequired[Resumed]


@dataclass(kw_only=True)
class AgentInput:
    """What a caller gives: the conversation's new messages."""

    messages: Annotated[list[AnyMessage], MESSAGES_CHANNEL] = field(default_factory=list)


@dataclass(kw_only=True)
class AgentState(AgentInput):
    """One thread, as checkpointed after every step.

    `messages` only grows; compaction moves `cut` and deletes nothing. One exception: the
    synthesised answer takes the place (and id) of the loop's draft.
    """

    turn: Turn = field(default_factory=lambda: Turn(run_id="", start=0, started_at=0.0))
    iteration: int = 0
    """Model calls of the loop in this run."""
    iteration_limit: int = 0
    """Where the loop must stop; an interrupt renews it."""
    mode: Mode = "native"
    """How the last reply was asked for; decides when interrupts are drained."""
    selected_tools: list[str] = field(default_factory=list)
    """Names of the tools on offer; empty means all."""
    held: list[AnyMessage] = field(default_factory=list)
    """Interrupts drained while a call was open; `act` puts them behind its results."""
    cut: int = 0
    """Messages before this index are left out of the prompt, but the question and pinned ones."""
    shrunk: int = 0
    """Tool results before this index are shown as little more than a mark."""
    cap: int = 0
    """Tokens that one message may take where nothing else made the prompt fit; 0: as usual."""
    summary: str = ""
    """What stood before the cut, in short; each summary replaces the one before it."""
    usage: RunUsage | None = None
    answer: str = ""
    structured: dict[str, Any] | None = None
    """The answer as data, where that was asked for and could be had."""
    structured_error: str | None = None
    """Why there are no such data though they were asked for."""
    stop_reason: StopReason | None = None
    """Why the run ended; None while it goes on."""


class Update(TypedDict, total=False):
    """What a node may write: LangGraph drops a misspelt key in silence, mypy does not."""

    messages: Sequence[BaseMessage]
    turn: Turn
    iteration: int
    iteration_limit: int
    mode: Mode
    selected_tools: list[str]
    held: Sequence[BaseMessage]
    cut: int
    shrunk: int
    cap: int
    summary: str
    usage: RunUsage
    answer: str
    structured: dict[str, Any] | None
    structured_error: str | None
    stop_reason: StopReason | None


Kind = Literal["interrupt", "reformat", "reminder", "check", "unreadable", "answer"]


def marked(message: BaseMessage) -> Kind | None:
    """Say what a message is, where it is not what its role says.

    `interrupt`: the user's words from the queue; `reformat`: our request to write JSON;
    `reminder`, `check`: ours as well, of the goal, and whether the answer is complete;
    `unreadable`: a reply that JSON mode could not read; `answer`: what the user was shown.
    """
    kind: Kind | None = message.additional_kwargs.get("kind")
    return kind


def is_question(message: BaseMessage) -> bool:
    """True for the user's own turn: no interrupt, no request of ours."""
    return isinstance(message, HumanMessage) and marked(message) is None


def said_by_user(message: BaseMessage) -> bool:
    """True for the user's own words: a question, or what was added while a run went on."""
    return isinstance(message, HumanMessage) and marked(message) in (None, "interrupt")


def open_calls(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """List the calls of the newest reply that have no result yet, in the order of the reply."""
    done: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            done.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return [dict(call) for call in message.tool_calls if call["id"] not in done]
        else:
            break
    return []


def pending_answer(messages: Sequence[BaseMessage]) -> AIMessage | None:
    """Return the newest message if it is an answer: from the model, and without calls."""
    last = messages[-1] if messages else None
    return last if isinstance(last, AIMessage) and not last.tool_calls else None


def is_at_limit(state: AgentState) -> bool:
    """Tell whether the model is not asked again in this run, unless a message comes."""
    return state.stop_reason is not None or state.iteration >= state.iteration_limit


def is_over(state: AgentState) -> bool:
    """Tell whether the run answers now: the model did, or is not asked again."""
    return is_at_limit(state) or pending_answer(state.messages) is not None
