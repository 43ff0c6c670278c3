"""A ReAct agent engine as a LangGraph state machine."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph_agent.agent import AgentResult, ReActAgent
    from graph_agent.errors import (
        ApprovalNeededError,
        ConfigError,
        ContextOverflowError,
        GraphAgentError,
        ModelError,
        ModelRefusedError,
        ModelUnavailableError,
        NotRunningError,
        StructuredOutputError,
        ThreadBusyError,
        ThreadNotFoundError,
    )
    from graph_agent.graph import build_graph
    from graph_agent.models.registry import ModelRegistry
    from graph_agent.settings import RunOptions, Settings
    from graph_agent.structured import StructuredCallResult, structured_llm_call

__all__ = [
    "AgentResult",
    "ApprovalNeededError",
    "ConfigError",
    "ContextOverflowError",
    "GraphAgentError",
    "ModelError",
    "ModelRefusedError",
    "ModelRegistry",
    "ModelUnavailableError",
    "NotRunningError",
    "ReActAgent",
    "RunOptions",
    "Settings",
    "StructuredCallResult",
    "StructuredOutputError",
    "ThreadBusyError",
    "ThreadNotFoundError",
    "build_graph",
    "structured_llm_call",
]

_HOMES = {
    "agent": ("AgentResult", "ReActAgent"),
    "graph": ("build_graph",),
    "models.registry": ("ModelRegistry",),
    "settings": ("RunOptions", "Settings"),
    "structured": ("StructuredCallResult", "structured_llm_call"),
}
"""Which module defines which public names; those of `errors` are all that is left."""

# Each name is imported when it is first asked for, so that what needs no engine, such as
# `graph-agent --help`, does not wait for it. Type checkers read the imports above instead.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = next((home for home, names in _HOMES.items() if name in names), "errors")
        value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
