"""The events of each thread's newest run, stored for other processes and for after a restart."""

import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from graph_agent.backends.bells import Changed
from graph_agent.errors import ConfigError
from graph_agent.events import WireEvent
from graph_agent.plain_text import cleaned

SCHEMA = 1
"""Version of the tables that events are stored in."""
PAGE = 500
"""Events that are read at once, at most."""
GAP = 1_000_000
"""Numbers left out after a run that broke off: it may have told more events than it stored."""


@dataclass(frozen=True)
class Numbered:
    """An event with its number; numbers of a thread only grow."""

    id: int
    event: WireEvent


@dataclass(frozen=True)
class StoredRun:
    """How far the newest run of a thread is stored."""

    number: int
    """Names the run: what its first event is numbered with."""
    newest: int
    """The number of its newest event, or the one before its first where there is none."""
    ended: bool
    """Whether its `end` is stored."""


class EventStore(Protocol):
    """Where the events of each thread's newest run are kept; older runs are forgotten."""

    async def begin(self, thread_id: str) -> int:
        """Forget the thread's run before, and what it was asked; return the new run's number.

        It is above all numbers of the thread's events, in whatever process they were given.
        """
        ...

    async def append(self, thread_id: str, run: int, events: Sequence[Numbered]) -> bool:
        """Store events of a run all at once; an `end` among them ends it.

        Returns:
            False where nothing was stored: the run has ended, or another has taken its place.
        """
        ...

    async def run(self, thread_id: str) -> StoredRun | None:
        """Return how far the thread's newest run is stored, if there is one."""
        ...

    async def after(self, thread_id: str, run: int, last: int) -> list[Numbered]:
        """Return the first events of a run that are numbered above `last`, `PAGE` at most."""
        ...

    async def delete(self, thread_id: str) -> None:
        """Forget all that is stored for a thread."""
        ...

    async def ask_to_cancel(self, thread_id: str, run: int) -> None:
        """Ask whoever runs it to cancel a run; its end answers that."""
        ...

    async def cancels(self) -> list[tuple[str, int]]:
        """List the runs that are to be cancelled: thread and number."""
        ...

    def watch(self, thread_id: str) -> AbstractAsyncContextManager[Changed]:
        """Inside the `async with` block, wait for changes of a thread's events."""
        ...

    def watch_cancels(self) -> AbstractAsyncContextManager[Changed]:
        """Inside the `async with` block, wait for runs that are to be cancelled."""
        ...


def now_number() -> int:
    """Return the number that an event gets now where none above it was given: microseconds."""
    return time.time_ns() // 1_000


def number_after(before: StoredRun | None) -> int:
    """Return the number of the event that follows all of a run, what it did not store as well."""
    if before is None:
        return now_number()
    return max(before.newest + (1 if before.ended else GAP), now_number())


def as_json(data: dict[str, Any]) -> str:
    """Encode an event's data; what no encoding can carry is replaced."""
    try:
        return orjson.dumps(data).decode()
    except TypeError:
        # A lone surrogate or a huge number that a model or a tool wrote.
        return orjson.dumps(cleaned(data)).decode()


def from_row(number: int, name: str, data: str) -> Numbered:
    """Make an event of what a table holds."""
    return Numbered(number, {"event": name, "data": orjson.loads(data)})


def ends(events: Sequence[Numbered]) -> bool:
    """Tell whether a run's `end` is among events that follow each other."""
    return bool(events) and events[-1].event["event"] == "end"


def check_schema(version: int) -> None:
    """Refuse tables that a later version of this package made.

    Raises:
        ConfigError: They are newer than this package knows.
    """
    if version > SCHEMA:
        raise ConfigError(
            f"The database stores events in form {version}, and this version of graph-agent knows "
            f"no form above {SCHEMA}. Update graph-agent, or use another database."
        )
