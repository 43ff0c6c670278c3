"""The saved steps of a thread: what each held, and a new thread that begins from one of them."""

from datetime import datetime
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END
from langgraph.types import StateSnapshot, StateUpdate
from pydantic import BaseModel, ConfigDict

from graph_agent.errors import ConfigError, ThreadNotFoundError
from graph_agent.models.images import words_of
from graph_agent.state import AgentState, Update
from graph_agent.sync_graph import AgentGraph
from graph_agent.threads.listing import config_for
from graph_agent.threads.repair import closing, results_of

SHOWN_CHARS = 80
"""Characters of a step's newest message that the list shows."""


class CheckpointInfo(BaseModel):
    """One saved step of a thread."""

    model_config = ConfigDict(frozen=True)

    checkpoint_id: str
    created_at: datetime
    step: int
    """Counts the thread's steps; the first is -1, before its question is taken in."""
    next: list[str]
    """The nodes that came next; empty where a run had ended."""
    messages: int
    """How many messages the thread held."""
    iteration: int
    """Model calls of the loop in that run so far."""
    last_message: str
    """The newest message on one line, shortened; the tools' names where a reply only calls them."""


async def checkpoints(graph: AgentGraph, thread_id: str, limit: int) -> list[CheckpointInfo]:
    """List a thread's newest steps, newest first.

    Raises:
        ConfigError: `limit` is less than 1.
    """
    if limit < 1:
        raise ConfigError(f"`limit` is {limit}. Ask for at least 1 checkpoint.")
    found = graph.aget_state_history(config_for(thread_id), limit=limit)
    return [_info(snapshot) async for snapshot in found]


async def checkpoint(
    graph: AgentGraph, thread_id: str, checkpoint_id: str | None = None
) -> StateSnapshot:
    """Return the state that a thread had at a checkpoint, or has now.

    Raises:
        ThreadNotFoundError: Nothing is saved of such a thread.
        ConfigError: It has no such checkpoint.
    """
    newest = await graph.aget_state(config_for(thread_id))
    if not newest.values:
        raise ThreadNotFoundError(thread_id)
    # The newest one is read as it is now, with what was done since it was saved.
    if checkpoint_id in (None, _id(newest)):
        return newest
    config = config_for(thread_id)
    config["configurable"]["checkpoint_id"] = checkpoint_id
    found = await graph.aget_state(config)
    if found.created_at is None:
        raise ConfigError(
            f"Thread {thread_id} has no checkpoint {checkpoint_id}. Its history lists them."
        )
    return found


async def copy_state(graph: AgentGraph, snapshot: StateSnapshot, thread_id: str) -> None:
    """Write a state into a new thread, as one that waits for a question.

    All messages are written: what a thread adds at each step stays behind with its own steps.
    """
    values = {
        name: snapshot.values[name]
        for name in Update.__annotations__.keys() & snapshot.values.keys()
    }
    if update := closing(snapshot, await results_of(graph, snapshot)):
        values |= {**update, "messages": [*values["messages"], *update["messages"]]}
    # Whatever node it is written as, END then clears what would come next.
    written = [[StateUpdate(values, "select_tools")], [StateUpdate(None, END)]]
    await graph.abulk_update_state(config_for(thread_id), written)


def _info(snapshot: StateSnapshot) -> CheckpointInfo:
    state = AgentState(**snapshot.values)
    metadata: dict[str, Any] = dict(snapshot.metadata or {})
    return CheckpointInfo(
        checkpoint_id=_id(snapshot),
        created_at=snapshot.created_at,
        step=metadata.get("step", -1),
        next=list(snapshot.next),
        messages=len(state.messages),
        iteration=state.iteration,
        last_message=_shown(state),
    )


def _id(snapshot: StateSnapshot) -> str:
    return str(snapshot.config["configurable"]["checkpoint_id"])


def _shown(state: AgentState) -> str:
    if not state.messages:
        return ""
    newest = state.messages[-1]
    calls = newest.tool_calls if isinstance(newest, AIMessage) else []
    line = " ".join((words_of(newest) or ", ".join(call["name"] for call in calls)).split())
    return line if len(line) <= SHOWN_CHARS else f"{line[: SHOWN_CHARS - 1]}…"
