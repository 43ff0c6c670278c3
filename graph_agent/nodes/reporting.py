"""Reports a node's failure to every host before LangGraph raises it."""

import logging
from typing import Protocol

from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from graph_agent.deps import Deps
from graph_agent.errors import GraphAgentError
from graph_agent.event_sink import with_sink
from graph_agent.events import End, Failed, emit
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update

logger = logging.getLogger(__name__)

UNEXPECTED = "Something went wrong inside the engine; the log says what. The thread can be resumed."


class Node(Protocol):
    """A node as it is written: with its dependencies as a keyword."""

    __name__: str

    async def __call__(
        self, state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps
    ) -> Update:
        """Read the state, and return what changed."""
        ...


class BoundNode(Protocol):
    """A node as LangGraph calls it."""

    async def __call__(self, state: AgentState, *, runtime: Runtime[RunOptions]) -> Update:
        """Read the state, and return what changed."""
        ...


def bound(node: Node, deps: Deps) -> BoundNode:
    """Bind a node's dependencies, and let it write `error` and `end` where it raises.

    Where a fallback model took over in this run, the node finds it in the model's place.
    """

    async def reported(state: AgentState, *, runtime: Runtime[RunOptions]) -> Update:
        runtime = with_sink(runtime)
        try:
            return await node(state, runtime, deps=deps.in_use(state, runtime))
        except GraphBubbleUp:
            raise
        except Exception as error:
            emit(runtime.stream_writer, failure(error))
            emit(runtime.stream_writer, End())
            raise

    return reported


def failure(error: Exception) -> Failed:
    """Say what happened; of an error that is not ours only the log learns the details."""
    if isinstance(error, GraphAgentError):
        return Failed(code=error.code, message=str(error))
    logger.error("unexpected failure", exc_info=error)
    return Failed(code="internal", message=UNEXPECTED)
