"""The events of a run that another process tells, or that has ended, followed from the store."""

from collections.abc import AsyncGenerator, Sequence

from graph_agent.backends import Backend
from graph_agent.backends.events import Numbered, StoredRun, ends, number_after
from graph_agent.errors import ThreadBusyError
from graph_agent.events import End, Failed, WireEvent
from graph_agent.runs.event_log import Opened

LARGEST = 2**63 - 1
"""The largest number that a database holds."""
INTERRUPTED = Failed(code="interrupted", message="The process that ran it died. Resume the thread.")


def telling(thread_id: str) -> str:
    """Name the lease of whoever tells a thread's events: until the last of them is stored."""
    return f"events of {thread_id}"


class StoredLog:
    """The newest run of a thread as it is stored; whoever finds it dead closes it for all."""

    def __init__(self, backend: Backend, thread_id: str, run: StoredRun) -> None:
        self._events = backend.events
        self._leases = backend.leases
        self._thread_id = thread_id
        self._number = run.number

    async def follow(self, after: int = 0) -> AsyncGenerator[Numbered]:
        """Yield the events numbered above `after`, those to come as well, until its `end`.

        A number that this run never gave is of a run that is forgotten: then all events come. A
        reader so slow that a newer run has taken the place of what it still had to read is let go
        without an `end`.
        """
        position = await self._place(after)
        async with self._events.watch(self._thread_id) as changed:
            while True:
                page = await self._page(position)
                for numbered in page:
                    yield numbered
                    position = numbered.id
                if ends(page) or (not page and await self._is_over(position)):
                    return
                if not page and not await self._closed_if_dead():
                    await changed()

    async def _place(self, after: int) -> int:
        """Return the number to read on from: `after`, or from the beginning if it is unknown."""
        before_first = self._number - 1
        # A client may send any number, also one that no database holds.
        if not before_first < after <= LARGEST:
            return before_first
        page = await self._page(after - 1)
        return after if page and page[0].id == after else before_first

    async def _page(self, position: int) -> list[Numbered]:
        return await self._events.after(self._thread_id, self._number, position)

    async def _is_over(self, position: int) -> bool:
        """Tell whether nothing follows: all was read, or another run has taken its place."""
        run = await self._events.run(self._thread_id)
        if run is None or run.number != self._number:
            return True
        return run.ended and position >= run.newest

    async def _closed_if_dead(self) -> bool:
        """Store an end where nobody tells the run any more; False where somebody does."""
        lease = telling(self._thread_id)
        if await self._leases.held(lease):
            return False
        try:
            async with self._leases.hold(lease):
                run = await self._events.run(self._thread_id)
                if run is not None and run.number == self._number and not run.ended:
                    await self._close(run)
        except ThreadBusyError:
            return False  # Another reader does the same, or the next run begins.
        return True

    async def _close(self, run: StoredRun) -> None:
        """Store the ends that are missing."""
        opened, position = Opened(), run.number - 1
        while page := await self._page(position):
            for numbered in page:
                opened.see(numbered.event)
            position = page[-1].id
        missing = [*opened.ends(why=INTERRUPTED.message), INTERRUPTED.wire(), End().wire()]
        await self._events.append(
            self._thread_id, run.number, numbered_from(number_after(run), missing)
        )


def numbered_from(first_id: int, events: Sequence[WireEvent]) -> list[Numbered]:
    """Number events that follow each other."""
    return [Numbered(first_id + index, event) for index, event in enumerate(events)]
