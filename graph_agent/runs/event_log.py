"""The events of a run of this process: numbered, followed live; a store holds the older ones."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

from graph_agent.backends.events import Numbered as Numbered
from graph_agent.backends.events import now_number
from graph_agent.events import AnswerDone, CallDone, Event, ThinkingDone, WireEvent

KEPT = 256
"""Stored events that stay in memory too, for those who follow closely."""

Older = Callable[[int], Awaitable[list[Numbered]]]
"""Reads the events that follow a number, some at a time; none where they are forgotten."""


class EventLog:
    """What one run has told so far; any number of readers, none of which can slow it down."""

    def __init__(self, first_id: int | None = None) -> None:
        """Begin the log, with a number that follows all that were given before."""
        self.first_id = first_id or now_number()
        self.closed = False
        self.opened = Opened()
        self._recent: list[Numbered] = []
        self._older: Older | None = None
        # Replaced by a new one whenever something is told.
        self._changed = asyncio.Event()
        self._next_id = self.first_id

    @property
    def next_id(self) -> int:
        """The number that the next event gets."""
        return self._next_id

    @property
    def in_memory(self) -> int:
        """How many events memory holds."""
        return len(self._recent)

    def stored_from(self, first_id: int, older: Older) -> None:
        """Let numbers begin at `first_id`, and read from a store what memory no longer holds."""
        self.first_id = self._next_id = first_id
        self._older = older

    def append(self, event: WireEvent) -> Numbered:
        """Add an event; `end` closes the log."""
        numbered = Numbered(self._next_id, event)
        self._next_id += 1
        self._recent.append(numbered)
        self.opened.see(event)
        self.closed = self.closed or event["event"] == "end"
        self._tell()
        return numbered

    def close(self) -> None:
        """Say that nothing follows."""
        self.closed = True
        self._tell()

    def forget(self, stored: int) -> None:
        """Drop from memory what is stored, up to the event of that number, but for the newest."""
        last = min(stored, self._next_id - 1 - KEPT)
        del self._recent[: max(0, last + 1 - self._oldest)]

    async def follow(self, after: int = 0) -> AsyncGenerator[Numbered]:
        """Yield the events numbered above `after`, those to come as well, until the log closes.

        A number that this log never gave is of a run that is forgotten: then all events come. A
        reader so slow that a newer run has taken the place of what it still had to read is let go
        without an `end`.
        """
        position = after + 1 if self.first_id <= after + 1 <= self._next_id else self.first_id
        while True:
            if position < self._oldest:
                page = await self._older(position - 1) if self._older else []
                if not page:
                    return
                for numbered in page:
                    yield numbered
                position = page[-1].id + 1
            elif position < self._next_id:
                yield self._recent[position - self._oldest]
                position += 1
            elif self.closed:
                return
            else:
                await self._changed.wait()

    @property
    def _oldest(self) -> int:
        return self._next_id - len(self._recent)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class Opened:
    """What a run has started and not ended, as its events tell it."""

    def __init__(self) -> None:
        self._starts: dict[str, WireEvent] = {}

    def see(self, event: WireEvent) -> None:
        """Take the next event into account."""
        data = event["data"]
        key = str(data.get("call_id") or data.get("type") or event["event"])
        if data.get("status") == "done":
            self._starts.pop(key, None)
        elif data.get("status") == "start":
            self._starts[key] = event

    def ends(self, *, why: str) -> list[WireEvent]:
        """Return the ends that are missing, in the order of their starts.

        Args:
            why: What the model's tools are said to have ended with.
        """
        ends = [_end_of(start, why) for start in self._starts.values()]
        return [end.wire() for end in ends if end is not None]


def closing_events(told: Iterable[WireEvent], *, why: str) -> list[WireEvent]:
    """Return the ends that are missing for what was started, in the order of their starts.

    Args:
        told: The events of a run that broke off.
        why: What the model's tools are said to have ended with.
    """
    opened = Opened()
    for event in told:
        opened.see(event)
    return opened.ends(why=why)


def _end_of(start: WireEvent, why: str) -> Event | None:
    data = start["data"]
    if start["event"] == "answer":
        return AnswerDone()
    if data["type"] == "thinking":
        return ThinkingDone(iteration=data["iteration"], reasoning="")
    if data["type"] == "iteration":
        rest = {key: value for key, value in data.items() if key != "status"}
        return CallDone(**rest, observation=why, error=True, iter_elapsed=0.0, artifacts=[])
    return None
