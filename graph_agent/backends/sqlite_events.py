"""Events in a SQLite file, on a connection of their own."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Concatenate, ParamSpec, Self, TypeVar

from graph_agent.backends import sqlite_statements as statements
from graph_agent.backends.bells import Bells, Changed
from graph_agent.backends.events import Numbered, StoredRun

P = ParamSpec("P")
T = TypeVar("T")

POLL = 0.1
"""Seconds between two looks at what another process may have written."""
CANCELS = ""
"""What those who look for runs to cancel wait for: the name of no thread."""


class SqliteEvents:
    """The events of each thread's newest run; other processes are seen by looking again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # One thread: what it does is one transaction after the other.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="graph-agent-events")
        self._bells = Bells(POLL)

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Connect, and create the tables that are missing.

        Raises:
            ConfigError: A later version of this package made them.
            sqlite3.Error: The file cannot be used.
        """
        events = cls(path)
        loop = asyncio.get_running_loop()
        try:
            events._connection = await loop.run_in_executor(
                events._thread, statements.connect, path
            )
            await events._do(statements.set_up)
        except BaseException:
            await events.close()
            raise
        return events

    _connection: sqlite3.Connection | None = None

    async def begin(self, thread_id: str) -> int:
        """Forget the thread's run before, and what it was asked; return the new run's number."""
        number = await self._do(statements.begin, thread_id)
        self._bells.ring(thread_id)
        return number

    async def append(self, thread_id: str, run: int, events: Sequence[Numbered]) -> bool:
        """Store events of a run; False where it has ended or another has taken its place."""
        stored = await self._do(statements.append, thread_id, run, events)
        self._bells.ring(thread_id)
        return stored

    async def run(self, thread_id: str) -> StoredRun | None:
        """Return how far the thread's newest run is stored, if there is one."""
        return await self._do(statements.run, thread_id)

    async def after(self, thread_id: str, run: int, last: int) -> list[Numbered]:
        """Return the first events of a run that are numbered above `last`, `PAGE` at most."""
        return await self._do(statements.after, thread_id, run, last)

    async def delete(self, thread_id: str) -> None:
        """Forget all that is stored for a thread."""
        await self._do(statements.delete, thread_id)
        self._bells.ring(thread_id)

    async def ask_to_cancel(self, thread_id: str, run: int) -> None:
        """Ask whoever runs it to cancel a run."""
        await self._do(statements.ask_to_cancel, thread_id, run)
        self._bells.ring(CANCELS)

    async def cancels(self) -> list[tuple[str, int]]:
        """List the runs that are to be cancelled: thread and number."""
        return await self._do(statements.cancels)

    def watch(self, thread_id: str) -> AbstractAsyncContextManager[Changed]:
        """Inside the `async with` block, wait for changes of a thread's events."""
        return self._bells.watch(thread_id)

    def watch_cancels(self) -> AbstractAsyncContextManager[Changed]:
        """Inside the `async with` block, wait for runs that are to be cancelled."""
        return self._bells.watch(CANCELS)

    async def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            await self._do(sqlite3.Connection.close)
        self._thread.shutdown(wait=False)

    async def _do(
        self,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        assert self._connection is not None, "not open"
        connection = self._connection
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: work(connection, *args, **kwargs))
