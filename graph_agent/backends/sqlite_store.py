"""A store in a SQLite file that other connections write to at the same time."""

import asyncio
import sqlite3
from collections.abc import Iterable
from typing import Any

from langgraph.store.base import Item, Op, PutOp, Result, SearchItem
from langgraph.store.sqlite import SqliteStore

from graph_agent.backends.grouped_writes import GroupedWrites

ANY = """SELECT EXISTS (SELECT 1 FROM store WHERE prefix = :name)
    OR EXISTS (SELECT 1 FROM store WHERE prefix >= :below AND prefix < :behind)"""
"""Whether there is anything in a namespace, or below it; takes its two indices."""

ONE = "SELECT 1 FROM store WHERE prefix = ? AND key = ?"


class SharedSqliteStore(SqliteStore):
    """Reads in a thread, and writes in one transaction with the checkpoints of that moment."""

    def __init__(
        self, connection: sqlite3.Connection, reader: sqlite3.Connection, writes: GroupedWrites
    ) -> None:
        """Use three ways into one file.

        Args:
            connection: For reading, in any thread.
            reader: For the event loop's thread, to see whether there is anything to read. A run
                looks at its empty queue at each step: that takes microseconds here, and ten times
                as long where threads are changed for it.
            writes: For writing.
        """
        super().__init__(connection)
        self._reader = reader
        self._writes = writes

    async def aget(
        self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """Read one item, if there is one."""
        if self._reader.execute(ONE, (".".join(namespace), key)).fetchone() is None:
            return None
        return await super().aget(namespace, key, refresh_ttl=refresh_ttl)

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
        numbered = [*enumerate(ops)]
        reads = [(number, op) for number, op in numbered if not isinstance(op, PutOp)]
        puts = [(number, op) for number, op in numbered if isinstance(op, PutOp)]
        results: list[Result] = [None] * len(numbered)
        if reads:
            found = await asyncio.to_thread(self.batch, [op for _, op in reads])
            for (number, _), result in zip(reads, found, strict=True):
                results[number] = result
        statements, _ = self._prepare_batch_PUT_queries(puts)
        await asyncio.gather(*(self._writes.execute(sql, [row]).done for sql, row in statements))
        return results
