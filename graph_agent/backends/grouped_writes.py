"""Writes to a SQLite file in groups: what comes while one is saved is the next transaction."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any


@dataclass(eq=False)
class Write:
    """One write, and what became of it."""

    sql: str
    rows: Sequence[Sequence[Any]]
    """It is executed for each of them."""
    needs: "Sequence[Write]"
    """Earlier ones without which it makes no sense."""
    done: asyncio.Future[None]
    """Is done once it is committed, or raises what SQLite or Python said of the values."""
    error: Exception | None = None

    def unmet(self) -> Exception | None:
        """Return what became of a write that it needs and that failed."""
        return next((need.error for need in self.needs if need.error), None)


LAG = 0.002
"""Seconds that a write may wait for those that it is committed with."""


class GroupedWrites:
    """One thread with one connection; whoever writes may wait until its group is committed.

    A round trip to a thread costs more than the writing: a group takes one, however long it is.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._loop = asyncio.get_running_loop()
        self._fresh: list[Write] = []
        """What came and is handed over soon."""
        self._later: asyncio.TimerHandle | None = None
        self._open = 0
        """Writes that are not known to be committed, or failed."""
        self._queue: SimpleQueue[list[Write] | None] = SimpleQueue()
        # A daemon: a process that nobody closed must be able to end.
        self._thread = threading.Thread(target=self._work, name="sqlite-writes", daemon=True)
        self._thread.start()

    def execute(
        self,
        sql: str,
        rows: Sequence[Sequence[Any]],
        *,
        needs: Sequence[Write] = (),
        lag: float = 0.0,
    ) -> Write:
        """Execute a statement for each row, after all that came before.

        It is a transaction: where it fails, or one that it needs did, nothing of it is written.

        Args:
            sql: The statement.
            rows: Its values.
            needs: Writes without which it makes no sense.
            lag: Seconds that it may wait for one that does not wait; 0 means until the end of this
                turn of the event loop.
        """
        write = Write(sql, rows, needs, self._loop.create_future())
        self._fresh.append(write)
        self._open += 1
        if self._later is None:
            self._later = self._loop.call_later(lag, self.hand_over)
        elif not lag:
            self._later.cancel()
            self._later = self._loop.call_later(0, self.hand_over)
        return write

    async def settled(self) -> None:
        """Return once all that came before is committed, or failed: now it can be read.

        Whoever wrote it may have been cancelled, and is not waiting any more.
        """
        if self._open:
            await self.execute("", []).done

    async def close(self) -> None:
        """Commit what waits, and close the connection."""
        self.hand_over()
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def hand_over(self) -> None:
        """Let nothing wait any longer for what would be committed with it."""
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if self._fresh:
            self._queue.put(self._fresh)
            self._fresh = []

    def _work(self) -> None:
        connection = self._connect()
        try:
            while group := self._next_group():
                _commit(connection, group)
                if not self._loop.is_closed():
                    self._loop.call_soon_threadsafe(self._settle, group)
        finally:
            connection.close()

    def _next_group(self) -> list[Write]:
        """Wait for a write and take all that wait by then; nothing at the end."""
        group: list[Write] = []
        more = self._queue.get()
        while more is not None:
            group += more
            if self._queue.empty():
                return group
            more = self._queue.get()
        if group:
            self._queue.put(None)  # First these, then the end.
        return group

    def _settle(self, group: Sequence[Write]) -> None:
        self._open -= len(group)
        for write in group:
            if write.done.done():
                continue  # Whoever waited was cancelled; the write stands.
            if write.error is None:
                write.done.set_result(None)
            else:
                write.done.set_exception(write.error)


def _commit(connection: sqlite3.Connection, group: Sequence[Write]) -> None:
    """Execute writes as one transaction; where that fails, each as one of its own."""
    try:
        _execute(connection, group)
    except Exception as error:  # noqa: BLE001 -- whoever waits for it is told; the thread goes on
        if len(group) == 1:
            group[0].error = error
        else:
            for write in group:
                _commit(connection, [write])


def _execute(connection: sqlite3.Connection, group: Sequence[Write]) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for write in group:
            if unmet := write.unmet():
                raise unmet
            if write.rows:
                connection.executemany(write.sql, write.rows)
