"""A ReAct agent engine as a LangGraph state machine."""

from graph_agent.agent import AgentResult, ReActAgent
from graph_agent.errors import (
    ConfigError,
    ContextOverflowError,
    GraphAgentError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
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
    "ConfigError",
    "ContextOverflowError",
    "GraphAgentError",
    "ModelError",
    "ModelRefusedError",
    "ModelRegistry",
    "ModelUnavailableError",
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
