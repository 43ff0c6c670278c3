"""Threads in one SQLite file."""

import asyncio
import sqlite3
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import aiosqlite

from graph_agent.backends.backend import Backend, stop_store
from graph_agent.backends.grouped_saver import GroupedSqliteSaver
from graph_agent.backends.grouped_writes import GroupedWrites
from graph_agent.backends.leases import FileLeases
from graph_agent.backends.saved_steps import KnownSteps
from graph_agent.backends.sqlite_events import SqliteEvents
from graph_agent.backends.sqlite_statements import BUSY_TIMEOUT, connect
from graph_agent.backends.sqlite_store import SharedSqliteStore
from graph_agent.errors import ConfigError


class _Saver(KnownSteps, GroupedSqliteSaver):
    """Saves in groups, and tells which steps it has saved."""


class _Connection(aiosqlite.Connection):
    """A connection whose thread lets the process end, also where nobody closed it."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            # Autocommit, as the store demands; the saver commits by itself.
            lambda: sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT),
            iter_chunk_size=64,
        )
        self._thread.daemon = True


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
                connection = await _connect(path, opened)
                writes = GroupedWrites(partial(connect, path))
                opened.push_async_callback(writes.close)
                saver = _Saver(connection, writes)
                reader = await asyncio.to_thread(connect, path)
                opened.callback(reader.close)
                store = SharedSqliteStore(await _connect(path, opened), reader)
                opened.push_async_callback(stop_store, store)
                await saver.setup()
                await store.setup()
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


async def _connect(path: Path, opened: AsyncExitStack) -> aiosqlite.Connection:
    connection = await _Connection(path)
    opened.push_async_callback(connection.close)
    # With a write-ahead log, NORMAL survives a killed process; only a power cut can lose the
    # newest steps.
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
        await connection.execute(f"PRAGMA {pragma}")
    return connection
