"""A store in a SQLite file that other connections write to at the same time."""

from collections.abc import Iterable

from langgraph.store.base import Op, PutOp, Result
from langgraph.store.sqlite.aio import AsyncSqliteStore


class SharedSqliteStore(AsyncSqliteStore):
    """Keeps reads and writes in transactions of their own.

    SQLite refuses at once, however long one would wait, to write in a transaction that has read
    what another connection has changed since.
    """

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do some operations, the reads first."""
        ops = list(ops)
        results: dict[int, Result] = {}
        for writes in (False, True):
            chosen = [index for index, op in enumerate(ops) if isinstance(op, PutOp) == writes]
            if chosen:
                given = await super().abatch([ops[index] for index in chosen])
                results.update(zip(chosen, given, strict=True))
        return [results[index] for index in range(len(ops))]
