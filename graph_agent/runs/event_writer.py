"""Stores a run's events behind it, some at a time, so that the run never waits for the store."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from graph_agent.backends.events import EventStore, Numbered

logger = logging.getLogger(__name__)

INTERVAL = 0.05
"""Seconds that an event waits for others before all are stored at once."""
BATCH = 64
"""Events that are stored at once without waiting for more."""
RETRY_INTERVAL = 0.5
"""Seconds before what could not be stored is tried again."""
LAST_TRIES = 3
"""How often a run's end is tried to be stored."""


class EventWriter:
    """The events of one run on their way into the store, in their order."""

    def __init__(
        self, store: EventStore, thread_id: str, run: int, *, stored: Callable[[int], None]
    ) -> None:
        """Make it.

        Args:
            store: Where the events go.
            thread_id: The run's thread.
            run: The run's number in the store.
            stored: Hears the number of the last event that is stored.
        """
        self._store = store
        self._thread_id = thread_id
        self._run = run
        self._stored = stored
        self._waiting: list[Numbered] = []
        self._hurry = asyncio.Event()
        self._finishing = False
        self._writing: asyncio.Task[None] | None = None
        # Another process took the run for dead, and closed it in the store.
        self._lost = False

    def add(self, numbered: Numbered) -> None:
        """Let an event be stored soon."""
        if self._lost:
            return
        self._waiting.append(numbered)
        if len(self._waiting) >= BATCH:
            self._hurry.set()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def finish(self, last: Sequence[Numbered]) -> None:
        """Store what waits and the run's last events all at once, so that no reader sees a part."""
        self._finishing = True
        self._hurry.set()
        if self._writing is not None:
            await asyncio.wait([self._writing])
        self._waiting += last
        for _ in range(LAST_TRIES):
            if self._lost or await self._append():
                return
            await asyncio.sleep(RETRY_INTERVAL)
        logger.error("the end of the run on thread %s is not stored", self._thread_id)

    async def _write(self) -> None:
        interval = INTERVAL
        while self._waiting and not self._lost:
            with suppress(TimeoutError):
                async with asyncio.timeout(interval):
                    await self._hurry.wait()
            if self._finishing:
                return
            self._hurry.clear()
            interval = INTERVAL if await self._append() else RETRY_INTERVAL

    async def _append(self) -> bool:
        """Store what waits; False where the store could not."""
        batch, self._waiting = self._waiting, []
        try:
            kept = await self._store.append(self._thread_id, self._run, batch)
        except Exception:
            # Each store has errors of its own; the run outlives them.
            logger.warning("events of thread %s wait", self._thread_id, exc_info=True)
            self._waiting = [*batch, *self._waiting]
            return False
        if kept:
            self._stored(batch[-1].id)
        else:
            self._lost = True
            logger.warning("the run on thread %s was closed from outside", self._thread_id)
        return True
