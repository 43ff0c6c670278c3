"""Ends what a broken run left open, so that the next question finds a well-formed thread."""

from collections.abc import Iterable, Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END
from langgraph.types import StateSnapshot, StateUpdate

from graph_agent.prompts import CALL_CANCELLED
from graph_agent.state import AgentState, Update, open_calls
from graph_agent.sync_graph import AgentGraph
from graph_agent.threads.listing import config_for


async def repair(graph: AgentGraph, thread_id: str) -> None:
    """Give each open call of a thread its result, directly behind the reply that made it.

    Tools that had finished have given theirs; the other calls are said to be cancelled. Whoever
    calls this holds the thread's lease, and asks a new question next: to go on with the run that
    broke off, leave the thread as it is.
    """
    if await _is_well_formed(graph, thread_id):
        return
    snapshot = await graph.aget_state(config_for(thread_id))
    steps = []
    if is_half_saved(snapshot):
        # A new question would drop what these nodes gave.
        steps.append([StateUpdate(None, END)])
    if update := closing(snapshot, await results_of(graph, snapshot)):
        # Written as this node, for it leads on to the model whatever the state.
        steps.append([StateUpdate(dict(update), "select_tools")])
    if steps:
        await graph.abulk_update_state(config_for(thread_id), steps)


async def _is_well_formed(graph: AgentGraph, thread_id: str) -> bool:
    """Tell whether a thread is new, or its last run ended, without reading its messages."""
    saved = await saver_of(graph).aget_tuple(config_for(thread_id))
    if saved is None:
        return True
    ended = saved.checkpoint["channel_values"].get("stop_reason") is not None
    return ended and not saved.pending_writes


def is_half_saved(snapshot: StateSnapshot) -> bool:
    """Tell whether a node's result is saved, but not yet the step that it ends."""
    return len(snapshot.next) < len(snapshot.tasks)


def closing(snapshot: StateSnapshot, results: Iterable[ToolMessage] = ()) -> Update:
    """Return what closes the open calls of a thread, and takes in what was held behind them.

    Args:
        snapshot: The thread.
        results: What tools gave whose step was not saved.
    """
    state = AgentState(**snapshot.values)
    calls = open_calls(state.messages)
    if not calls and not state.held:
        return Update()
    given = {result.tool_call_id: result for result in results}
    closed = [
        given.get(call["id"]) or _cancelled(call["id"], call["name"], state) for call in calls
    ]
    return Update(messages=[*closed, *state.held], held=[])


async def results_of(graph: AgentGraph, snapshot: StateSnapshot) -> list[ToolMessage]:
    """List the results of tools that are saved with a step, but are not in its state yet.

    LangGraph saves at once what a task returned, as a call's result, and what a node did.
    """
    if "act" not in snapshot.next:
        return []
    saved = await saver_of(graph).aget_tuple(snapshot.config)
    writes = saved.pending_writes if saved else None
    values = (value if isinstance(value, list) else [value] for _, _, value in writes or ())
    return [result for found in values for result in found if isinstance(result, ToolMessage)]


def saver_of(graph: AgentGraph) -> BaseCheckpointSaver[str]:
    """Return where a graph's threads are kept."""
    saver = graph.checkpointer
    assert isinstance(saver, BaseCheckpointSaver), "a graph without threads has none to look into"
    return saver


def _cancelled(call_id: str, name: str, state: AgentState) -> ToolMessage:
    return ToolMessage(
        CALL_CANCELLED,
        tool_call_id=call_id,
        name=name,
        id=f"{_newest_reply(state.messages).id}-{call_id}",
        status="error",
        response_metadata={"iteration": state.iteration, "seconds": 0.0},
    )


def _newest_reply(messages: Sequence[BaseMessage]) -> AIMessage:
    return next(m for m in reversed(messages) if isinstance(m, AIMessage))
