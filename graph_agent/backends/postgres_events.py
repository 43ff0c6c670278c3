"""Events on a PostgreSQL server, which tells other processes of what is new."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from typing import Any

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from graph_agent.backends import postgres_statements as statements
from graph_agent.backends.bells import Changed
from graph_agent.backends.events import (
    GAP,
    PAGE,
    SCHEMA,
    Numbered,
    StoredRun,
    as_json,
    check_schema,
    ends,
    from_row,
    now_number,
)
from graph_agent.backends.postgres_news import CHANNEL, News

Pool = AsyncConnectionPool[AsyncConnection[dict[str, Any]]]

CANCELS = "cancels"
"""The news that a run is to be cancelled."""


class PostgresEvents:
    """The events of each thread's newest run; a connection of its own hears of what is new."""

    def __init__(self, pool: Pool, url: str) -> None:
        self._pool = pool
        self._news = News(url)

    async def setup(self) -> None:
        """Create the tables that are missing.

        Raises:
            ConfigError: A later version of this package made them.
        """
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(statements.VERSION)
            await connection.execute(statements.OURS, (SCHEMA,))
            found = await (await connection.execute(statements.FOUND)).fetchone()
            check_schema(found["version"] if found else SCHEMA)
            for table in statements.TABLES:
                await connection.execute(table)

    async def begin(self, thread_id: str) -> int:
        """Forget the thread's run before, and what it was asked; return the new run's number."""
        rows = await self._rows(
            statements.BEGIN, thread_id, _name(thread_id), now=now_number(), gap=GAP
        )
        number: int = rows[0]["number"]
        return number

    async def append(self, thread_id: str, run: int, events: Sequence[Numbered]) -> bool:
        """Store events of a run; False where it has ended or another has taken its place."""
        rows = await self._rows(
            statements.APPEND,
            thread_id,
            _name(thread_id),
            run=run,
            newest=events[-1].id,
            ended=ends(events),
            ids=[numbered.id for numbered in events],
            names=[numbered.event["event"] for numbered in events],
            data=[as_json(numbered.event["data"]) for numbered in events],
        )
        return rows != []

    async def run(self, thread_id: str) -> StoredRun | None:
        """Return how far the thread's newest run is stored, if there is one."""
        rows = await self._rows(statements.RUN, thread_id)
        return StoredRun(**rows[0]) if rows else None

    async def after(self, thread_id: str, run: int, last: int) -> list[Numbered]:
        """Return the first events of a run that are numbered above `last`, `PAGE` at most."""
        rows = await self._rows(statements.AFTER, thread_id, run=run, last=last, page=PAGE)
        return [from_row(row["id"], row["event"], row["data"]) for row in rows]

    async def delete(self, thread_id: str) -> None:
        """Forget all that is stored for a thread."""
        await self._rows(statements.DELETE, thread_id, _name(thread_id))

    async def ask_to_cancel(self, thread_id: str, run: int) -> None:
        """Ask whoever runs it to cancel a run."""
        await self._rows(statements.ASK_TO_CANCEL, thread_id, CANCELS, run=run)

    async def cancels(self) -> list[tuple[str, int]]:
        """List the runs that are to be cancelled: thread and number."""
        rows = await self._rows(statements.CANCELS)
        return [(row["thread_id"], row["run"]) for row in rows]

    def watch(self, thread_id: str) -> AbstractAsyncContextManager[Changed]:
        """Inside the `async with` block, wait for changes of a thread's events."""
        return self._news.watch(_name(thread_id))

    def watch_cancels(self) -> AbstractAsyncContextManager[Changed]:
        """Inside the `async with` block, wait for runs that are to be cancelled."""
        return self._news.watch(CANCELS)

    async def close(self) -> None:
        """Stop to listen."""
        await self._news.close()

    async def _rows(
        self, query: str, thread_id: str = "", news: str = "", **values: Any
    ) -> list[dict[str, Any]]:
        named = {"thread": thread_id, "channel": CHANNEL, "news": news, **values}
        async with self._pool.connection() as connection:
            return await (await connection.execute(query, named)).fetchall()


def _name(thread_id: str) -> str:
    """Name a thread in the news, which hold 8,000 bytes."""
    return sha256(thread_id.encode()).hexdigest()
