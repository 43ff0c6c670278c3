"""Threads: what each is called and when it was last used, in LangGraph's store."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore, Item
from pydantic import BaseModel, ConfigDict

from graph_agent.errors import ConfigError
from graph_agent.plain_text import plain_text

NAMESPACE = ("threads",)
TITLES = (*NAMESPACE, "titles")
"""Where titles that people gave are kept: apart, so that a run that begins cannot undo one."""
TITLE_CHARS = 80
"""Characters of a title, at most; the first question is cut to it."""
COPY = "{title} (fork)"
"""The title of a thread that was begun from another's."""
MOST = 10_000
"""Threads that are read to sort them."""


def new_thread_id() -> str:
    """Name a new conversation."""
    return str(uuid4())


def config_for(thread_id: str, *, run_id: UUID | None = None) -> RunnableConfig:
    """Return the config by which LangGraph finds a thread, and names a run.

    Raises:
        ConfigError: The id holds a NUL or half a character.
    """
    if plain_text(thread_id) != thread_id:
        raise ConfigError(
            f"The thread id {thread_id!r} holds a NUL or half a character. Change it."
        )
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
        item = await self._store.aget(NAMESPACE, thread_id, refresh_ttl=False)
        known = _line(item) if item else None
        now = datetime.now(UTC)
        line = ThreadInfo(
            thread_id=thread_id,
            title=(known.title if known else "") or _one_line(title)[:TITLE_CHARS],
            created_at=known.created_at if known else now,
            updated_at=now,
        )
        value = line.model_dump(mode="json", exclude={"thread_id"})
        await self._store.aput(NAMESPACE, thread_id, value, index=False)

    async def get(self, thread_id: str) -> ThreadInfo | None:
        """Return one thread's line, if there is such a thread."""
        item = await self._store.aget(NAMESPACE, thread_id)
        return None if item is None else _line(item, await self._store.aget(TITLES, thread_id))

    async def newest(self, limit: int = 50, offset: int = 0) -> list[ThreadInfo]:
        """List threads, the one used last first."""
        # A search also finds the namespaces below.
        items = await self._store.asearch(NAMESPACE, limit=2 * MOST)
        titles = {item.key: item for item in items if tuple(item.namespace) == TITLES}
        lines = (item for item in items if tuple(item.namespace) == NAMESPACE)
        found = [_line(item, titles.get(item.key)) for item in lines]
        found.sort(key=lambda thread: thread.updated_at, reverse=True)
        return found[offset : offset + limit]

    async def rename(self, thread_id: str, title: str) -> None:
        """Give a thread a title in place of its first question.

        Raises:
            ConfigError: The title is empty or too long.
        """
        title = _one_line(plain_text(title))
        if not 0 < len(title) <= TITLE_CHARS:
            raise ConfigError(
                f"The title has {len(title)} characters. Write 1 to {TITLE_CHARS} of them."
            )
        await self._store.aput(TITLES, thread_id, {"title": title}, index=False)

    async def forget(self, thread_id: str) -> None:
        """Take a thread off the list; unknown ids do no harm."""
        for namespace in (NAMESPACE, TITLES):
            await self._store.adelete(namespace, thread_id)


def copy_title(title: str) -> str:
    """Name a thread that is begun from another's.

    >>> copy_title("Rivers of Korea")
    'Rivers of Korea (fork)'
    """
    return COPY.format(title=title[: TITLE_CHARS - len(COPY.format(title=""))]).strip()


def _line(item: Item, title: Item | None = None) -> ThreadInfo:
    return ThreadInfo.model_validate(
        {"thread_id": item.key, **item.value, **(title.value if title else {})}
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
