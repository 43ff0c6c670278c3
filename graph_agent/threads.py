"""Threads: what each is called and when it was last used, in LangGraph's store."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore, Item
from pydantic import BaseModel, ConfigDict

NAMESPACE = ("threads",)
TITLE_CHARS = 80
"""Characters of the first question that make a title."""
MOST = 10_000
"""Threads that are read to sort them."""


def new_thread_id() -> str:
    """Name a new conversation."""
    return str(uuid4())


def config_for(thread_id: str, *, run_id: UUID | None = None) -> RunnableConfig:
    """Return the config by which LangGraph finds a thread, and names a run."""
    config = RunnableConfig(configurable={"thread_id": thread_id})
    if run_id is not None:
        config["run_id"] = run_id
    return config


class ThreadInfo(BaseModel):
    """One line of the list."""

    model_config = ConfigDict(frozen=True)

    thread_id: str
    title: str
    created_at: datetime
    updated_at: datetime


class ThreadList:
    """Which threads there are."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def touch(self, thread_id: str, title: str = "") -> None:
        """Note that a thread was used; the first text becomes its title."""
        known = await self.get(thread_id)
        now = datetime.now(UTC)
        line = ThreadInfo(
            thread_id=thread_id,
            title=(known.title if known else "") or " ".join(title.split())[:TITLE_CHARS],
            created_at=known.created_at if known else now,
            updated_at=now,
        )
        value = line.model_dump(mode="json", exclude={"thread_id"})
        await self._store.aput(NAMESPACE, thread_id, value, index=False)

    async def get(self, thread_id: str) -> ThreadInfo | None:
        """Return one thread's line, if there is such a thread."""
        item = await self._store.aget(NAMESPACE, thread_id)
        return None if item is None else _line(item)

    async def newest(self, limit: int = 50, offset: int = 0) -> list[ThreadInfo]:
        """List threads, the one used last first."""
        items = await self._store.asearch(NAMESPACE, limit=MOST)
        found = [_line(item) for item in items]
        found.sort(key=lambda thread: thread.updated_at, reverse=True)
        return found[offset : offset + limit]


def _line(item: Item) -> ThreadInfo:
    return ThreadInfo.model_validate({"thread_id": item.key, **item.value})
