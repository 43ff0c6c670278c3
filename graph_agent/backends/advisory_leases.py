"""Leases on a PostgreSQL server, which frees them when the connection of their holder ends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

from graph_agent.backends.leases import MemoryLeases
from graph_agent.errors import ThreadBusyError

if TYPE_CHECKING:
    from psycopg import AsyncConnection

CONNECT_TIMEOUT = 10
"""Seconds to wait for the server."""

LockFunction = Literal["pg_try_advisory_lock", "pg_advisory_lock", "pg_advisory_unlock"]


class AdvisoryLeases:
    """Leases across processes and machines, all held by one connection of this process."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: AsyncConnection[Any] | None = None
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

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Do the `async with` block while no other process is inside the one of that name."""
        await self._ask("pg_advisory_lock", name)
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
            return await self._ask("pg_try_advisory_lock", name)
        except BaseException:
            # Who was cancelled does not know whether the server had granted it already.
            await self._release(name)
            raise

    async def _release(self, name: str) -> None:
        # A connection that broke has freed it, and a new one does not hold it.
        if self._connection is not None and not self._connection.closed:
            await self._ask("pg_advisory_unlock", name)

    async def _ask(self, function: LockFunction, name: str) -> bool:
        # Optional: the extra `postgres` brings it.
        from psycopg import AsyncConnection  # noqa: PLC0415

        if self._connection is None or self._connection.closed:
            self._connection = await AsyncConnection.connect(
                self._url, autocommit=True, connect_timeout=CONNECT_TIMEOUT
            )
        key = int.from_bytes(sha256(name.encode()).digest()[:8], signed=True)
        cursor = await self._connection.execute(f"SELECT {function}(%s)", (key,))
        row = await cursor.fetchone()
        # `pg_advisory_lock` returns nothing once it has waited.
        return row is not None and row[0] is not False
