"""The bodies of requests and responses."""

from typing import Annotated, Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from graph_agent.events import Approval
from graph_agent.models.images import words_of
from graph_agent.models.spec import Abilities
from graph_agent.plain_text import cleaned
from graph_agent.state import marked, said_by_user
from graph_agent.threads.listing import TITLE_CHARS


class Health(BaseModel):
    """The server is up."""

    status: Literal["ok"] = "ok"


class RunRequest(BaseModel):
    """The body that starts a run."""

    model_config = ConfigDict(extra="forbid")

    message: Annotated[
        Annotated[str, Field(min_length=1)] | list[dict[str, Any]], BeforeValidator(cleaned)
    ]
    """Text, or content blocks: `text`, and `image_url` or `image` for models that read images."""
    model: str | None = None
    """A model of the registry."""
    response_format: dict[str, Any] | None = None
    """A JSON schema of an object: `done` then holds the answer as data too, in `structured`."""


class ResumeRequest(BaseModel):
    """The body that goes on with a run."""

    model_config = ConfigDict(extra="forbid")

    decisions: Literal["allow", "deny"] | dict[str, Any] | None = None
    """For all calls that wait, or by the `interrupt_id` of each: `"allow"`, `"deny"`,
    `{"deny": why}` or `{"args": {…}}`."""


class InterruptRequest(BaseModel):
    """A message for the run in progress."""

    model_config = ConfigDict(extra="forbid")

    content: Annotated[str, Field(min_length=1), BeforeValidator(cleaned)]


class InterruptAccepted(BaseModel):
    """A message that waits for the run."""

    id: str
    status: Literal["queued"] = "queued"


class CancelOutcome(BaseModel):
    """Whether a run was stopped; False where none was in progress, or not yet (status 202)."""

    cancelled: bool


class ThreadCreated(BaseModel):
    """A new thread."""

    thread_id: str


class ThreadChange(BaseModel):
    """What is changed of a thread."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, Field(min_length=1, max_length=TITLE_CHARS), BeforeValidator(cleaned)]


class ForkRequest(BaseModel):
    """Where a new thread begins."""

    model_config = ConfigDict(extra="forbid")

    checkpoint_id: str | None = None
    """A step of the thread; the newest if there is none."""


class UserMessage(BaseModel):
    """The user's words."""

    role: Literal["user"] = "user"
    content: str


class MadeCall(BaseModel):
    """A tool call that the model made."""

    id: str | None
    name: str
    args: dict[str, Any]


class AssistantMessage(BaseModel):
    """The model's words, with the calls it made."""

    role: Literal["assistant"] = "assistant"
    content: str
    tool_calls: list[MadeCall]


class ToolResult(BaseModel):
    """What a tool call gave."""

    role: Literal["tool"] = "tool"
    content: str
    name: str | None
    tool_call_id: str
    status: Literal["success", "error"]
    iter_elapsed: float | None
    """Seconds."""


ShownMessage = Annotated[UserMessage | AssistantMessage | ToolResult, Field(discriminator="role")]


class ToolQuestion(BaseModel):
    """What a tool asks that pauses the run by itself."""

    model_config = ConfigDict(extra="forbid")

    interrupt_id: str
    value: Any


class ThreadState(BaseModel):
    """A conversation, and whether a run of it is in progress, or waits for a person."""

    thread_id: str
    title: str
    running: bool
    approvals: list[Approval | ToolQuestion]
    """What a person has to decide before the run goes on."""
    messages: list[ShownMessage]


class ModelChoice(BaseModel):
    """What a run may choose, and what it uses otherwise."""

    default: str
    models: list[str]
    abilities: Abilities
    """Of the default model, as its context size."""
    context_size: int


class ToolInfo(BaseModel):
    """A tool on offer."""

    name: str
    description: str


def shown(message: BaseMessage) -> ShownMessage | None:
    """Return a message as a person sees it: no request of ours, no suppressed answer."""
    match message:
        case HumanMessage() if said_by_user(message):
            return UserMessage(content=words_of(message))
        case AIMessage() if message.tool_calls or marked(message) == "answer":
            calls = [
                MadeCall(id=c["id"], name=c["name"], args=c["args"]) for c in message.tool_calls
            ]
            return AssistantMessage(content=message.text, tool_calls=calls)
        case ToolMessage():
            return ToolResult(
                content=message.text,
                name=message.name,
                tool_call_id=message.tool_call_id,
                status=message.status,
                iter_elapsed=message.response_metadata.get("seconds"),
            )
    return None
