"""Events that are kept for as long as the process lives."""

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from graph_agent.backends.bells import Bells, Changed
from graph_agent.backends.events import PAGE, Numbered, StoredRun, ends, number_after

LONGEST_WAIT = 1.0
"""Seconds after which whoever waits looks again in any case."""
MOST_KEPT = 200
"""Threads whose ended run can be read again; runs in progress are always kept."""
CANCELS = ""
"""What those who look for runs to cancel wait for: the name of no thread."""


@dataclass
class _Kept:
    number: int
    events: list[Numbered] = field(default_factory=list)
    ended: bool = False

    def stored(self) -> StoredRun:
        newest = self.events[-1].id if self.events else self.number - 1
        return StoredRun(self.number, newest, self.ended)


class MemoryEvents:
    """The events of each thread's newest run, within one process, whatever event loop asks."""

    def __init__(self, keep: int = MOST_KEPT) -> None:
        self._keep = keep
        self._runs: dict[str, _Kept] = {}
        self._cancels: dict[str, int] = {}
        self._bells = Bells(LONGEST_WAIT)

    async def begin(self, thread_id: str) -> int:
        """Forget the thread's run before; of all the ended ones the oldest are forgotten too."""
        before = self._runs.pop(thread_id, None)
        self._cancels.pop(thread_id, None)
        number = number_after(before.stored() if before else None)
        self._runs[thread_id] = _Kept(number)
        ended = [known for known, run in self._runs.items() if run.ended]
        for known in ended[: max(0, len(self._runs) - self._keep)]:
            del self._runs[known]
        self._bells.ring(thread_id)
        return number

    async def append(self, thread_id: str, run: int, events: Sequence[Numbered]) -> bool:
        """Store events of a run; False where it has ended or another has taken its place."""
        kept = self._runs.get(thread_id)
        if kept is None or kept.number != run or kept.ended:
            return False
        kept.events += events
        if ends(events):
            kept.ended = True
            self._cancels.pop(thread_id, None)
        self._bells.ring(thread_id)
        return True

    async def run(self, thread_id: str) -> StoredRun | None:
        """Return how far the thread's newest run is stored, if there is one."""
        kept = self._runs.get(thread_id)
        return kept.stored() if kept else None

    async def after(self, thread_id: str, run: int, last: int) -> list[Numbered]:
        """Return the first events of a run that are numbered above `last`, `PAGE` at most."""
        kept = self._runs.get(thread_id)
        if kept is None or kept.number != run:
            return []
        first = bisect_right(kept.events, last, key=lambda numbered: numbered.id)
        return kept.events[first : first + PAGE]

    async def delete(self, thread_id: str) -> None:
        """Forget all that is stored for a thread."""
        self._runs.pop(thread_id, None)
        self._cancels.pop(thread_id, None)
        self._bells.ring(thread_id)

    async def ask_to_cancel(self, thread_id: str, run: int) -> None:
        """Ask whoever runs it to cancel a run."""
        self._cancels[thread_id] = run
        self._bells.ring(CANCELS)

    async def cancels(self) -> list[tuple[str, int]]:
        """List the runs that are to be cancelled: thread and number."""
        return [*self._cancels.items()]

    def watch(self, thread_id: str) -> AbstractAsyncContextManager[Changed]:
        """Inside the `async with` block, wait for changes of a thread's events."""
        return self._bells.watch(thread_id)

    def watch_cancels(self) -> AbstractAsyncContextManager[Changed]:
        """Inside the `async with` block, wait for runs that are to be cancelled."""
        return self._bells.watch(CANCELS)
