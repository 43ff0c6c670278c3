"""Waits until what a node was given is saved: before a model is asked, before a tool runs."""

from langgraph.runtime import Runtime

from graph_agent.deps import Deps
from graph_agent.settings import RunOptions


async def on_record(runtime: Runtime[RunOptions], deps: Deps) -> None:
    """Return once the step that a node belongs to is saved.

    Raises:
        Exception: What kept it from being saved.
    """
    at = runtime.execution_info
    if deps.steps and at and at.thread_id is not None:
        graph, _, _ = at.checkpoint_ns.rpartition("|")
        await deps.steps.wait(at.thread_id, graph, at.checkpoint_id)
