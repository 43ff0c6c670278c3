"""Leases on a PostgreSQL server, which frees them when the connection of their holder ends."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, Literal, LiteralString

from psycopg import AsyncConnection, OperationalError

from graph_agent.backends.leases import MemoryLeases
from graph_agent.errors import ThreadBusyError

CONNECT_TIMEOUT = 10
"""Seconds to wait for the server."""
TURN_INTERVAL = 0.05
"""Seconds between two looks at whether it is our turn."""

HELD = """SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32 | objid::bigint) = %(key)s"""
"""Finds who holds a lock by its key; the view shows the two halves of it."""

LockFunction = Literal["pg_try_advisory_lock", "pg_advisory_unlock"]


class AdvisoryLeases:
    """Leases across processes and machines, all held by one connection of this process.

    Where that connection breaks, the next lease is taken on a new one; those that were held are
    free to others from then on.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: AsyncConnection[Any] | None = None
        self._connecting = asyncio.Lock()
        # To the server one connection is one holder, however many tasks share it.
        self._in_process = MemoryLeases()

    @asynccontextmanager
    async def hold(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the thread's lease inside the `async with` block."""
        name = f"thread {thread_id}"
        async with self._in_process.hold(thread_id):
            if not await self._take(name):
                raise ThreadBusyError(thread_id)
            try:
                yield
            finally:
                await self._release(name)

    async def held(self, thread_id: str) -> bool:
        """Tell whether anybody holds the thread's lease just now."""
        if await self._in_process.held(thread_id):
            return True
        query, key = HELD, {"key": _key(f"thread {thread_id}")}
        return await self._asked(lambda connection: _finds(connection, query, key))

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Do the `async with` block while no other process is inside the one of that name."""
        # Not `pg_advisory_lock`: its waiting query is an open transaction, for whose end the one
        # that makes an index concurrently would wait in turn.
        while not await self._take(name):  # noqa: ASYNC110 -- it changes in another process
            await asyncio.sleep(TURN_INTERVAL)
        try:
            yield
        finally:
            await self._release(name)

    async def close(self) -> None:
        """Close the connection, and with it free all leases."""
        if self._connection is not None:
            await self._connection.close()

    async def _take(self, name: str) -> bool:
        try:
            return await self._asked(lambda each: _call(each, "pg_try_advisory_lock", name))
        except asyncio.CancelledError:
            # The server may have granted it before its answer was given up.
            await self._release(name)
            raise

    async def _release(self, name: str) -> None:
        connection = self._connection
        if connection is None or connection.closed:
            return  # What it held is free.
        try:
            await _call(connection, "pg_advisory_unlock", name)
        except OperationalError:
            if not connection.closed:
                raise

    async def _asked(self, ask: Callable[[AsyncConnection[Any]], Awaitable[bool]]) -> bool:
        """Ask the server, and once more where it had closed the connection while it was idle."""
        connection = await self._connected()
        try:
            return await ask(connection)
        except OperationalError:
            if not connection.closed:
                raise
            return await ask(await self._connected())

    async def _connected(self) -> AsyncConnection[Any]:
        # All who find it closed take the same new one: only that holds their leases.
        async with self._connecting:
            if self._connection is None or self._connection.closed:
                self._connection = await AsyncConnection.connect(
                    self._url, autocommit=True, connect_timeout=CONNECT_TIMEOUT
                )
            return self._connection


async def _finds(connection: AsyncConnection[Any], query: LiteralString, values: Any) -> bool:
    cursor = await connection.execute(query, values)
    return await cursor.fetchone() is not None


async def _call(connection: AsyncConnection[Any], function: LockFunction, name: str) -> bool:
    cursor = await connection.execute(f"SELECT {function}(%s)", (_key(name),))
    row = await cursor.fetchone()
    return row is not None and bool(row[0])


def _key(name: str) -> int:
    return int.from_bytes(sha256(name.encode()).digest()[:8], signed=True)
