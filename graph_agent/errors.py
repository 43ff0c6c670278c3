"""Every error this package raises on purpose.

GraphAgentError
├── ConfigError                 the caller set something wrong: fix it and restart
├── ModelError                  the endpoint failed, or answered outside the agreed form
│   ├── ModelUnavailableError   it could not be reached, or kept failing: try again later
│   ├── ModelRefusedError       it refused the request as it stands
│   │   ├── ContextOverflowError    the prompt does not fit the model's window
│   │   └── ToolsRefusedError       it takes no tools: ask in JSON mode
│   └── StructuredOutputError   no reply held the data that were asked for
├── ThreadBusyError             a run is in progress on that thread
├── NotRunningError             no run is in progress on that thread
├── ApprovalNeededError         the run waits for a person's decision
└── ThreadNotFoundError         no thread has that id

A tool that fails is no error here: `act` hands its text to the model.
"""

from typing import Any


class GraphAgentError(Exception):
    """Base of all errors below; its text says what happened, then what to do."""

    code = "internal"
    """Short name that travels in the `error` event."""


class ConfigError(GraphAgentError):
    """A setting, a file, an argument or a key is wrong."""

    code = "config"


class ModelError(GraphAgentError):
    """The model's endpoint failed, or answered outside the agreed form."""

    code = "model"


class ModelUnavailableError(ModelError):
    """The endpoint could not be reached, or kept failing."""

    code = "model_unavailable"


class ModelRefusedError(ModelError):
    """The endpoint refused the request; asking the same again will not help."""

    code = "model_refused"

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status, where there was one."""


class ContextOverflowError(ModelRefusedError):
    """The prompt does not fit the model's window."""

    code = "context_overflow"


class ToolsRefusedError(ModelRefusedError):
    """The endpoint takes no tools; the same can be asked in JSON mode."""

    code = "tools_refused"


class StructuredOutputError(ModelError):
    """No reply held data of the wanted shape; `raw` is the last reply's text."""

    code = "structured_output"

    def __init__(self, message: str, *, raw: str) -> None:
        super().__init__(message)
        self.raw = raw


class ThreadBusyError(GraphAgentError):
    """A run is in progress on the thread: wait for it, or interrupt it."""

    code = "busy"

    def __init__(self, thread_id: str) -> None:
        super().__init__(
            f"Thread {thread_id} is busy with a run. Wait until it ends, or send an interrupt."
        )
        self.thread_id = thread_id


class NotRunningError(GraphAgentError):
    """No run is in progress on that thread, so that nobody would read what is added to it."""

    code = "not_running"

    def __init__(self, thread_id: str) -> None:
        super().__init__(
            f"No run is in progress on thread {thread_id}. Ask it a question instead, or resume it."
        )
        self.thread_id = thread_id


class ApprovalNeededError(GraphAgentError):
    """The run is paused until a person decides about tool calls; it is saved."""

    code = "approval_needed"

    def __init__(self, thread_id: str, approvals: list[dict[str, Any]]) -> None:
        names = ", ".join(f"`{each.get('tool_name', 'a tool')}`" for each in approvals)
        super().__init__(
            f"The run on thread {thread_id} waits for a decision about {names}. Resume it with "
            '`decisions`, by `interrupt_id`: "allow", "deny", {"deny": why} or {"args": {…}}.'
        )
        self.thread_id = thread_id
        self.approvals = approvals
        """What waits: `interrupt_id`, `call_id`, `tool_name`, `tool_args` of each."""


class ThreadNotFoundError(GraphAgentError):
    """No thread has that id."""

    code = "not_found"

    def __init__(self, thread_id: str) -> None:
        super().__init__(f"There is no thread {thread_id}. `graph-agent threads` lists them.")
        self.thread_id = thread_id
