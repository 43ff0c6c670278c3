"""Writes to a SQLite file in groups: what comes while one is saved is the next transaction."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, TypeAlias

Statement: TypeAlias = tuple[str, Sequence[Sequence[Any]]]
"""SQL, and the rows that it is executed with."""
Waiting: TypeAlias = tuple[Statement, asyncio.Future[None]]


class GroupedWrites:
    """One thread with one connection; each write waits until its group is committed.

    A round trip to a thread costs more than the writing: a group takes one, however long it is.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._loop = asyncio.get_running_loop()
        self._fresh: list[Waiting] = []
        """What came in this turn of the event loop, and is handed over at its end."""
        self._queue: SimpleQueue[list[Waiting] | None] = SimpleQueue()
        # A daemon: a process that nobody closed must be able to end.
        self._thread = threading.Thread(target=self._work, name="sqlite-writes", daemon=True)
        self._thread.start()

    async def execute(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement for each row, and return once it is committed.

        Raises:
            Exception: What SQLite or Python said of the values; nothing of it is written.
        """
        done = self._loop.create_future()
        if not self._fresh:
            self._loop.call_soon(self._hand_over)
        self._fresh.append(((sql, rows), done))
        await done

    async def close(self) -> None:
        """Commit what waits, and close the connection."""
        self._hand_over()
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _hand_over(self) -> None:
        if self._fresh:
            self._queue.put(self._fresh)
            self._fresh = []

    def _work(self) -> None:
        connection = self._connect()
        try:
            while group := self._next_group():
                outcomes = _committed(connection, [statement for statement, _ in group])
                told = list(zip([done for _, done in group], outcomes, strict=True))
                if not self._loop.is_closed():
                    self._loop.call_soon_threadsafe(_settle, told)
        finally:
            connection.close()

    def _next_group(self) -> list[Waiting]:
        """Wait for a write and take all that wait by then; nothing at the end."""
        group: list[Waiting] = []
        more = self._queue.get()
        while more is not None:
            group += more
            if self._queue.empty():
                return group
            more = self._queue.get()
        if group:
            self._queue.put(None)  # First these, then the end.
        return group


def _committed(
    connection: sqlite3.Connection, statements: Sequence[Statement]
) -> list[Exception | None]:
    """Execute statements as one transaction; where that fails, each as one of its own."""
    try:
        _execute(connection, statements)
    except Exception as error:  # noqa: BLE001 -- whoever waits for it is told; the thread goes on
        if len(statements) == 1:
            return [error]
        return [outcome for each in statements for outcome in _committed(connection, [each])]
    return [None] * len(statements)


def _execute(connection: sqlite3.Connection, statements: Sequence[Statement]) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for sql, rows in statements:
            connection.executemany(sql, rows)


def _settle(told: Sequence[tuple[asyncio.Future[None], Exception | None]]) -> None:
    for done, error in told:
        if done.done():
            continue  # Whoever waited was cancelled; the write stands.
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
