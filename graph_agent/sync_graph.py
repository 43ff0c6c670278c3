"""Gives a compiled graph of async nodes its sync methods, and a door where input is cleaned."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot

from graph_agent.bridge import iterate_sync, run_sync
from graph_agent.incoming import plain_input
from graph_agent.settings import RunOptions
from graph_agent.state import AgentInput, AgentState


class AgentGraph(CompiledStateGraph[AgentState, RunOptions, AgentInput, AgentState]):
    """A compiled graph whose sync methods run its async ones on a background event loop."""

    async def astream(self, input: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the parts of a run; what goes in is cleaned first.

        Raises:
            ConfigError: A message holds what cannot be stored.
        """
        parts = super().astream(plain_input(input), *args, **kwargs)
        async with aclosing(cast("AsyncGenerator[Any]", parts)):
            async for part in parts:
                yield part

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph to its end; see `ainvoke`."""
        return run_sync(self.ainvoke(*args, **kwargs))

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Yield the parts of a run; see `astream`."""
        return iterate_sync(self.astream(*args, **kwargs))

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return a thread's state; see `aget_state`."""
        return run_sync(self.aget_state(config, subgraphs=subgraphs))

    def get_state_history(self, *args: Any, **kwargs: Any) -> Iterator[StateSnapshot]:
        """Yield a thread's checkpoints, newest first; see `aget_state_history`."""
        return iterate_sync(self.aget_state_history(*args, **kwargs))

    def update_state(self, *args: Any, **kwargs: Any) -> RunnableConfig:
        """Change a thread that no run is using; see `aupdate_state`."""
        return run_sync(self.aupdate_state(*args, **kwargs))


def with_sync_methods(
    graph: CompiledStateGraph[AgentState, RunOptions, AgentInput, AgentState],
) -> AgentGraph:
    """Turn LangGraph's compiled graph into ours.

    `StateGraph.compile` names the class it makes and takes no other, so the class is changed
    afterwards; ours has the same fields.
    """
    graph.__class__ = AgentGraph
    assert isinstance(graph, AgentGraph)
    return graph
