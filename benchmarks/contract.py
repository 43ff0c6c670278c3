"""What an adapter offers the harness; it needs no more than Python, so it loads everywhere."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

Opened = TypeVar("Opened")

Figures = dict[str, float]
"""What one measurement found, by name; the columns of a scenario say in which unit."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a contender works."""

    endpoint: str
    """Base URL of the model's API."""
    folder: Path
    """For its database."""
    postgres: str | None = None
    """URL of an empty database, for those who ask for one."""


class Loop(Protocol):
    """An opened contender: its client, its agent and its database are there."""

    async def run(self, question: str, thread: str) -> str:
        """Ask on a new thread, and return the answer."""


class StreamingLoop(Protocol):
    """One that also tells its answer piece by piece."""

    def deltas(self, question: str, thread: str) -> AsyncIterator[str]:
        """Ask on a new thread, and yield the pieces of the answer."""


class KeepingLoop(Protocol):
    """One that keeps its threads."""

    async def reopen(self, thread: str) -> int:
        """Read a thread's state, and return how many messages it holds."""


class Served(Protocol):
    """One that answers HTTP, by the routes of our server."""

    address: str
    """Host and port."""


Opens = Callable[[Place], AbstractAsyncContextManager[Opened]]
