"""Routes between nodes, as LangGraph calls them."""

from collections.abc import Hashable
from typing import Any, Protocol, get_args, get_type_hints

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.runtime import Runtime, get_runtime
from typing_extensions import override

from graph_agent.deps import Deps
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState


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
        return await self._route(input, runtime, deps=self._deps.in_use(input, runtime))
