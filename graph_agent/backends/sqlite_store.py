"""A store in a SQLite file that other connections write to at the same time."""

import asyncio
import sqlite3
from collections.abc import Iterable
from typing import Any

from langgraph.store.base import Op, PutOp, Result, SearchItem
from langgraph.store.sqlite import SqliteStore

ANY = """SELECT EXISTS (SELECT 1 FROM store WHERE prefix = :name)
    OR EXISTS (SELECT 1 FROM store WHERE prefix >= :below AND prefix < :behind)"""
"""Whether there is anything in a namespace, or below it; takes its two indices."""


class SharedSqliteStore(SqliteStore):
    """Works in threads, and keeps reads and writes in transactions of their own.

    SQLite refuses at once, however long one would wait, to write in a transaction that has read
    what another connection has changed since.
    """

    def __init__(self, connection: sqlite3.Connection, reader: sqlite3.Connection) -> None:
        """Use a connection for all that is done, and another one to see whether there is anything.

        Args:
            connection: For any thread.
            reader: For the event loop's thread. A run looks at its empty queue at each step: that
                takes microseconds here, and ten times as long where threads are changed for it.
        """
        super().__init__(connection)
        self._reader = reader

    async def asearch(
        self, namespace_prefix: tuple[str, ...], /, *args: Any, **kwargs: Any
    ) -> list[SearchItem]:
        """Find what is in a namespace, and below it."""
        if self._is_empty(".".join(namespace_prefix)):
            return []
        return await super().asearch(namespace_prefix, *args, **kwargs)

    def _is_empty(self, name: str) -> bool:
        # Below a namespace are the names that go on with a dot, and `/` is the character behind it.
        names = {"name": name, "below": f"{name}.", "behind": f"{name}/"}
        found: tuple[int] = self._reader.execute(ANY, names).fetchone()
        return not found[0]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do some operations, the reads first."""
        return await asyncio.to_thread(self.batch, ops)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do some operations, the reads first."""
        ops = list(ops)
        results: dict[int, Result] = {}
        for writes in (False, True):
            chosen = [index for index, op in enumerate(ops) if isinstance(op, PutOp) == writes]
            if chosen:
                given = super().batch([ops[index] for index in chosen])
                results.update(zip(chosen, given, strict=True))
        return [results[index] for index in range(len(ops))]
