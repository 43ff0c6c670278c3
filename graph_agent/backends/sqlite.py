"""Threads in one SQLite file."""

import asyncio
import sqlite3
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore

from graph_agent.backends.backend import Backend
from graph_agent.backends.grouped_saver import GroupedSqliteSaver
from graph_agent.backends.grouped_writes import GroupedWrites
from graph_agent.backends.leases import FileLeases
from graph_agent.backends.saved_steps import KnownSteps, place_of
from graph_agent.backends.sqlite_events import SqliteEvents
from graph_agent.backends.sqlite_statements import connect
from graph_agent.backends.sqlite_store import SharedSqliteStore
from graph_agent.errors import ConfigError


class _Saver(KnownSteps, GroupedSqliteSaver):
    """Saves in groups, and tells which steps it has saved."""

    def __init__(self, *connections: sqlite3.Connection, writes: GroupedWrites) -> None:
        super().__init__(*connections, writes=writes)
        self.steps.hurry = writes.hand_over

    def _is_awaited(self, config: RunnableConfig) -> bool:
        return self.steps.awaited(place_of(config))


async def open_sqlite(file: str) -> Backend:
    """Open or create the file, and what is stored in it.

    Raises:
        ConfigError: The file cannot be opened, or is no SQLite database.
    """
    async with AsyncExitStack() as opened:
        try:
            path = await asyncio.to_thread(_prepared, file)
            leases = FileLeases(path.with_name(f"{path.name}-leases"))
            # Two processes may start at once, and both find no tables.
            async with leases.turn("setup"):
                # The first connection makes the write-ahead log, which takes the file for itself.
                saving, storing, reader = [await _connect(path, opened) for _ in range(3)]
                writes = GroupedWrites(partial(connect, path))
                opened.push_async_callback(writes.close)
                saver = _Saver(saving, reader, writes=writes)
                store = SharedSqliteStore(storing, reader, writes)
                await asyncio.to_thread(_set_up, saver, store)
                events = await SqliteEvents.open(path)
                opened.push_async_callback(events.close)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"The database {file} cannot be opened: {error}. Check the path, or set "
                "GRAPH_AGENT_DATABASE."
            ) from error
        close = opened.pop_all().aclose
        return Backend(checkpointer=saver, store=store, events=events, leases=leases, close=close)


def _prepared(file: str) -> Path:
    path = Path(file).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _set_up(saver: SqliteSaver, store: SqliteStore) -> None:
    saver.setup()
    store.setup()


async def _connect(path: Path, opened: AsyncExitStack) -> sqlite3.Connection:
    connection = await asyncio.to_thread(connect, path)
    opened.callback(connection.close)
    return connection
