"""The events of one thread's runs: numbered, kept for those who come later, followed live."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from graph_agent.events import AnswerDone, CallDone, Event, ThinkingDone, WireEvent


@dataclass(frozen=True)
class Numbered:
    """An event with its number; numbers of a thread only grow."""

    id: int
    event: WireEvent


@dataclass
class EventLog:
    """What one run has told so far; any number of readers, none of which can slow it down."""

    first_id: int = 1
    events: list[Numbered] = field(default_factory=list)
    closed: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced by a new one, whenever something is told."""

    @property
    def next_id(self) -> int:
        """The number that the next event gets."""
        return self.first_id + len(self.events)

    def append(self, event: WireEvent) -> None:
        """Add an event; `end` closes the log."""
        self.events.append(Numbered(self.next_id, event))
        self.closed = self.closed or event["event"] == "end"
        self._tell()

    def close(self) -> None:
        """Say that nothing follows."""
        self.closed = True
        self._tell()

    async def follow(self, after: int = 0) -> AsyncIterator[Numbered]:
        """Yield the events numbered above `after`, those to come as well, until the log closes.

        A number that this log never gave is of a run that is forgotten: then all events come.
        """
        index = after + 1 - self.first_id
        if not 0 <= index <= len(self.events):
            index = 0
        while True:
            while index < len(self.events):
                yield self.events[index]
                index += 1
            if self.closed:
                return
            await self._changed.wait()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def closing_events(told: list[WireEvent], *, why: str) -> list[WireEvent]:
    """Return the ends that are missing for what was started, in the order of their starts.

    Args:
        told: The events of a run that broke off.
        why: What the model's tools are said to have ended with.
    """
    opened: dict[str, Event] = {}
    for wire in told:
        data = wire["data"]
        key = str(data.get("call_id") or data.get("type") or wire["event"])
        if data.get("status") == "done":
            opened.pop(key, None)
        elif data.get("status") == "start" and (end := _end_of(wire, why)):
            opened[key] = end
    return [end.wire() for end in opened.values()]


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
