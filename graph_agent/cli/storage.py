"""Reads and writes what is stored for threads, where no model is needed for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.store.base import BaseStore

from graph_agent.backends import open_backend
from graph_agent.errors import ConfigError, ThreadNotFoundError
from graph_agent.interrupts import InterruptQueue
from graph_agent.threads import ThreadInfo, ThreadList


@asynccontextmanager
async def opened_store(database: str) -> AsyncIterator[BaseStore]:
    """Open the database for a while.

    Raises:
        ConfigError: It cannot be opened.
    """
    backend = await open_backend(database)
    try:
        yield backend.store
    finally:
        await backend.close()


async def list_threads(database: str, limit: int) -> list[ThreadInfo]:
    """List at most `limit` threads, the one used last first."""
    async with opened_store(database) as store:
        return await ThreadList(store).newest(limit)


async def queue_interrupt(database: str, thread_id: str, content: str) -> None:
    """Queue a message for the run on a thread.

    Raises:
        ConfigError: The message is empty.
        ThreadNotFoundError: There is no such thread.
    """
    if not content:
        raise ConfigError("The message is empty. Write what to tell the agent.")
    async with opened_store(database) as store:
        if await ThreadList(store).get(thread_id) is None:
            raise ThreadNotFoundError(thread_id)
        await InterruptQueue(store, thread_id).put(content)
