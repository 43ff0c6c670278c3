"""Reports a node's failure to every host before LangGraph raises it."""

import logging
from collections.abc import Hashable
from typing import Any, Protocol, get_args, get_type_hints

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime, get_runtime
from typing_extensions import override

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
            return await node(state, runtime, deps=_in_use(state, runtime, deps))
        except GraphBubbleUp:
            raise
        except Exception as error:
            emit(runtime.stream_writer, failure(error))
            emit(runtime.stream_writer, End())
            raise

    return reported


class Route(Protocol):
    """What decides where a node leads to; it names the nodes as a literal that it returns."""

    __name__: str

    async def __call__(
        self, state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps
    ) -> Hashable:
        """Read the state, and name the next node."""
        ...


class Routed(Runnable[AgentState, Hashable]):
    """A route as LangGraph calls it, with its dependencies bound.

    Of a function LangGraph would tell LangChain's callbacks at each call, even where nobody
    listens: two tasks and some turns of the event loop.
    """

    def __init__(self, route: Route, deps: Deps) -> None:
        self.name = route.__name__
        self._route = route
        self._deps = deps
        self.ends: list[str] = [*get_args(get_type_hints(route)["return"])]
        """Where it may lead; to the first where somebody writes into a thread without a run."""

    @override
    def invoke(
        self, input: AgentState, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Hashable:
        raise TypeError("The graph's nodes and routes are async: LangGraph awaits them.")

    @override
    async def ainvoke(
        self, input: AgentState, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Hashable:
        assert config is not None, "LangGraph hands one over"
        with set_config_context(config) as context:
            # LangGraph hands it over as a parameter only where there always is one.
            runtime: Runtime[RunOptions] | None = context.run(get_runtime, RunOptions)
        if runtime is None:
            return self.ends[0]
        return await self._route(input, runtime, deps=_in_use(input, runtime, self._deps))


def _in_use(state: AgentState, runtime: Runtime[RunOptions], deps: Deps) -> Deps:
    """Put the fallback model that took over in this run into the model's place."""
    switched = state.turn.get("switched")
    return deps.for_run(runtime).using(switched["model"] if switched else None)


def failure(error: Exception) -> Failed:
    """Say what happened; of an error that is not ours only the log learns the details."""
    if isinstance(error, GraphAgentError):
        return Failed(code=error.code, message=str(error))
    logger.error("unexpected failure", exc_info=error)
    return Failed(code="internal", message=UNEXPECTED)
