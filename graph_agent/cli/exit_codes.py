"""What the exit codes mean, and which one a run ends with."""

from enum import IntEnum

from graph_agent.errors import (
    ApprovalNeededError,
    ConfigError,
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
    NotRunningError,
    StructuredOutputError,
    ThreadBusyError,
    ThreadNotFoundError,
)


class ExitCode(IntEnum):
    """The exit codes of every command."""

    OK = 0
    """The work is done; for a run: with a final answer."""
    INTERNAL = 1
    """A fault of this program."""
    USAGE = 2
    """The call or the configuration is wrong."""
    STOPPED = 3
    """A limit stopped the run, and there is an answer; or it waits until a person decides."""
    MODEL = 4
    """The model's endpoint failed."""
    CANCELLED = 130
    """Ctrl-C; the thread is kept."""


_OF_ERROR = {
    "cancelled": ExitCode.CANCELLED,
    ApprovalNeededError.code: ExitCode.STOPPED,
    **{
        kind.code: ExitCode.MODEL
        for kind in (
            ModelError,
            ModelUnavailableError,
            ModelRefusedError,
            ContextOverflowError,
            StructuredOutputError,
        )
    },
    **{
        kind.code: ExitCode.USAGE
        for kind in (ConfigError, NotRunningError, ThreadBusyError, ThreadNotFoundError)
    },
}
_OF_STOP = {
    "final": ExitCode.OK,
    "cancelled": ExitCode.CANCELLED,
    "error": ExitCode.MODEL,
}


def exit_code_of_error(code: str) -> ExitCode:
    """Return the exit code for the `code` of an error or of an `error` event."""
    return _OF_ERROR.get(code, ExitCode.INTERNAL)


def exit_code_of_stop(stop_reason: str) -> ExitCode:
    """Return the exit code for the `stop_reason` of a `done` event."""
    return _OF_STOP.get(stop_reason, ExitCode.STOPPED)
