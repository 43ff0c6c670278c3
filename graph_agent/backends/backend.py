"""Everything that is stored for threads, as one value."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore

from graph_agent.backends.events import EventStore
from graph_agent.backends.leases import Leases, MemoryLeases
from graph_agent.backends.memory_events import MemoryEvents
from graph_agent.errors import NotRunningError
from graph_agent.interrupts import Interrupt, InterruptQueue


async def _nothing() -> None:
    """Close what needs no closing."""


@dataclass(frozen=True, kw_only=True)
class Backend:
    """Checkpoints, store, events and leases that belong together."""

    checkpointer: BaseCheckpointSaver[str]
    store: BaseStore
    events: EventStore
    leases: Leases
    close: Callable[[], Awaitable[None]] = _nothing

    async def add_to_run(self, thread_id: str, content: str) -> Interrupt:
        """Queue a message for the run in progress on a thread.

        Raises:
            NotRunningError: No run is in progress, in any process.
            ConfigError: The message is empty.
        """
        queue = InterruptQueue(self.store, thread_id)
        if not await self.leases.held(thread_id):
            raise NotRunningError(thread_id)
        interrupt = await queue.put(content)
        # A run lets go of the thread before it looks at the queue for the last time.
        if await self.leases.held(thread_id) or not await queue.recall(interrupt.id):
            return interrupt
        raise NotRunningError(thread_id)


def memory_backend(
    checkpointer: BaseCheckpointSaver[str] | None = None, store: BaseStore | None = None
) -> Backend:
    """Keep threads for as long as the process lives, or in the given places."""
    return Backend(
        checkpointer=checkpointer or InMemorySaver(),
        store=store or InMemoryStore(),
        events=MemoryEvents(),
        leases=MemoryLeases(),
    )


async def stop_store(store: AsyncBatchedBaseStore) -> None:
    """End the task that a store works with: the store itself leaves it behind."""
    task = store._task
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait([task])
