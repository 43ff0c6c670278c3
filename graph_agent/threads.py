"""The list of threads: what each is called and when it was last used, in LangGraph's store."""

import time
from dataclasses import dataclass

from langgraph.store.base import BaseStore

NAMESPACE = ("threads",)
TITLE_CHARS = 80
"""Characters of the first question that make a title."""
MOST = 10_000
"""Threads that are read to sort them."""


@dataclass(frozen=True, kw_only=True)
class ThreadInfo:
    """One line of the list."""

    thread_id: str
    title: str
    created_at: float
    """Unix time in seconds."""
    updated_at: float
    """Unix time in seconds."""


class ThreadList:
    """Which threads there are."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def touch(self, thread_id: str, title: str = "") -> None:
        """Note that a thread was used; the first text becomes its title."""
        known = await self.get(thread_id)
        now = time.time()
        value = {
            "title": (known.title if known else "") or " ".join(title.split())[:TITLE_CHARS],
            "created_at": known.created_at if known else now,
            "updated_at": now,
        }
        await self._store.aput(NAMESPACE, thread_id, value, index=False)

    async def get(self, thread_id: str) -> ThreadInfo | None:
        """Return one thread's line, if there is such a thread."""
        item = await self._store.aget(NAMESPACE, thread_id)
        return None if item is None else ThreadInfo(thread_id=item.key, **item.value)

    async def newest(self, limit: int = 50, offset: int = 0) -> list[ThreadInfo]:
        """List threads, the one used last first."""
        items = await self._store.asearch(NAMESPACE, limit=MOST)
        found = [ThreadInfo(thread_id=item.key, **item.value) for item in items]
        found.sort(key=lambda thread: thread.updated_at, reverse=True)
        return found[offset : offset + limit]
