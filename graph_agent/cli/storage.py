"""Reads and writes what is stored for threads, where no model is needed for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.language_models import FakeListChatModel

from graph_agent.agent import ReActAgent
from graph_agent.backends import Backend, open_backend
from graph_agent.errors import ConfigError, ThreadNotFoundError
from graph_agent.threads.kept import KeptThreads
from graph_agent.threads.listing import ThreadInfo, ThreadList


@asynccontextmanager
async def opened_backend(database: str) -> AsyncIterator[Backend]:
    """Open the database for a while.

    Raises:
        ConfigError: It cannot be opened.
    """
    backend = await open_backend(database)
    try:
        yield backend
    finally:
        await backend.close()


@asynccontextmanager
async def opened_threads(database: str) -> AsyncIterator[KeptThreads]:
    """Open the threads of a database for a while, to look into them or to change them.

    Raises:
        ConfigError: It cannot be opened.
    """
    # A model that never answers, and has no prices: none is asked.
    model = FakeListChatModel(responses=[])
    async with ReActAgent(model, database=database, max_cost=None) as agent:
        yield agent


async def list_threads(database: str, limit: int) -> list[ThreadInfo]:
    """List at most `limit` threads, the one used last first."""
    async with opened_backend(database) as backend:
        return await ThreadList(backend.store).newest(limit)


async def queue_interrupt(database: str, thread_id: str, content: str) -> None:
    """Queue a message for the run in progress on a thread, in whatever process.

    Raises:
        ConfigError: The message is empty.
        ThreadNotFoundError: There is no such thread.
        NotRunningError: No run is in progress on it.
    """
    if not content:
        raise ConfigError("The message is empty. Write what to tell the agent.")
    async with opened_backend(database) as backend:
        if await ThreadList(backend.store).get(thread_id) is None:
            raise ThreadNotFoundError(thread_id)
        await backend.add_to_run(thread_id, content)
