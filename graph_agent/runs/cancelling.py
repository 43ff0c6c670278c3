"""Cancels runs of other processes: one asks by the event store, the one that runs it obeys."""

import asyncio
import logging
from collections.abc import Callable

from graph_agent.backends import Backend
from graph_agent.backends.events import EventStore

logger = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds that whoever cancels a run of another process waits for its end."""
RETRY_INTERVAL = 1.0
"""Seconds before a store that failed is looked into again."""


async def cancel_elsewhere(backend: Backend, thread_id: str, *, patience: float = PATIENCE) -> bool:
    """Ask the process that runs it to cancel a thread's run, and wait for its end.

    Returns:
        False where none is in progress.

    Raises:
        TimeoutError: It has not ended in time; it may still do so.
    """
    events, asked = backend.events, None
    async with asyncio.timeout(patience), events.watch(thread_id) as changed:
        while await backend.leases.held(thread_id):
            run = await events.run(thread_id)
            if asked is not None and (run is None or run.ended or run.number != asked):
                return True
            # One that just begins is not stored yet; then the newest is an ended one.
            if asked is None and run is not None and not run.ended:
                await events.ask_to_cancel(thread_id, run.number)
                asked = run.number
            await changed()
    return asked is not None


class CancelWatch:
    """Hears what other processes want to have cancelled, for as long as something runs here."""

    def __init__(self, events: EventStore, obey: Callable[[str, int], None]) -> None:
        """Make it.

        Args:
            events: Where others ask.
            obey: Hears the thread and the number of each run that is to be cancelled, also of
                those that run elsewhere, and maybe more than once.
        """
        self._events = events
        self._obey = obey
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look, unless it does already."""
        if self._task is None or self._task.cancelling() or self._task.done():
            self._task = asyncio.create_task(self._look())

    def stop(self) -> None:
        """Look no more: nothing runs here."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        while True:
            try:
                await self._hear()
            except Exception:
                # Each store has errors of its own, and all may pass.
                logger.warning("nobody can cancel from another process now", exc_info=True)
                await asyncio.sleep(RETRY_INTERVAL)

    async def _hear(self) -> None:
        async with self._events.watch_cancels() as changed:
            while True:
                for thread_id, number in await self._events.cancels():
                    self._obey(thread_id, number)
                await changed()
