"""Everything that is stored for threads, as one value."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore

from graph_agent.backends.leases import Leases, MemoryLeases


async def _nothing() -> None:
    """Close what needs no closing."""


@dataclass(frozen=True, kw_only=True)
class Backend:
    """Checkpoints, store and leases that belong together."""

    checkpointer: BaseCheckpointSaver[str]
    store: BaseStore
    leases: Leases
    close: Callable[[], Awaitable[None]] = _nothing


def memory_backend(
    checkpointer: BaseCheckpointSaver[str] | None = None, store: BaseStore | None = None
) -> Backend:
    """Keep threads for as long as the process lives, or in the given places."""
    return Backend(
        checkpointer=checkpointer or InMemorySaver(),
        store=store or InMemoryStore(),
        leases=MemoryLeases(),
    )


async def stop_store(store: AsyncBatchedBaseStore) -> None:
    """End the task that a store works with: the store itself leaves it behind."""
    task = store._task
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait([task])
