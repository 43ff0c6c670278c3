"""What is done to the tables of events in a SQLite file, each in a transaction of its own."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from graph_agent.backends.events import (
    PAGE,
    SCHEMA,
    Numbered,
    StoredRun,
    as_json,
    check_schema,
    ends,
    from_row,
    number_after,
)

BUSY_TIMEOUT = 30.0
"""Seconds to wait for another writer of the same file."""

VERSION = "CREATE TABLE IF NOT EXISTS graph_agent_schema (name TEXT PRIMARY KEY, version INTEGER)"
TABLES = (
    """CREATE TABLE IF NOT EXISTS graph_agent_runs (
        thread_id TEXT PRIMARY KEY, number INTEGER, newest INTEGER, ended INTEGER)""",
    """CREATE TABLE IF NOT EXISTS graph_agent_events (
        thread_id TEXT, id INTEGER, event TEXT, data TEXT, PRIMARY KEY (thread_id, id))""",
    "CREATE TABLE IF NOT EXISTS graph_agent_cancels (thread_id TEXT PRIMARY KEY, run INTEGER)",
)


def connect(path: Path) -> sqlite3.Connection:
    """Open the file."""
    connection = sqlite3.connect(
        path, isolation_level=None, timeout=BUSY_TIMEOUT, check_same_thread=False
    )
    # With a write-ahead log, NORMAL survives a killed process; only a power cut can lose the newest
    # steps.
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def set_up(connection: sqlite3.Connection) -> None:
    """Create the tables that are missing.

    Raises:
        ConfigError: A later version of this package made them.
    """
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(VERSION)
        connection.execute(
            "INSERT OR IGNORE INTO graph_agent_schema VALUES ('events', ?)", (SCHEMA,)
        )
        query = "SELECT version FROM graph_agent_schema WHERE name = 'events'"
        check_schema(*connection.execute(query).fetchone())
        for table in TABLES:
            connection.execute(table)


def begin(connection: sqlite3.Connection, thread_id: str) -> int:
    """Forget the thread's run before, and what it was asked; return the new run's number."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        number = number_after(run(connection, thread_id))
        _forget(connection, thread_id)
        connection.execute(
            "INSERT INTO graph_agent_runs VALUES (?, ?, ?, 0)", (thread_id, number, number - 1)
        )
    return number


def append(
    connection: sqlite3.Connection, thread_id: str, run: int, events: Sequence[Numbered]
) -> bool:
    """Store events of a run; False where it has ended or another has taken its place."""
    # Before the transaction: others wait for the end of it.
    rows = [(thread_id, n.id, n.event["event"], as_json(n.event["data"])) for n in events]
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        found = connection.execute(
            """UPDATE graph_agent_runs SET newest = ?, ended = ?
            WHERE thread_id = ? AND number = ? AND NOT ended""",
            (events[-1].id, ends(events), thread_id, run),
        )
        if found.rowcount == 0:
            return False
        connection.executemany("INSERT OR IGNORE INTO graph_agent_events VALUES (?, ?, ?, ?)", rows)
        if ends(events):
            connection.execute("DELETE FROM graph_agent_cancels WHERE thread_id = ?", (thread_id,))
    return True


def run(connection: sqlite3.Connection, thread_id: str) -> StoredRun | None:
    """Return how far the thread's newest run is stored, if there is one."""
    row = connection.execute(
        "SELECT number, newest, ended FROM graph_agent_runs WHERE thread_id = ?", (thread_id,)
    ).fetchone()
    return StoredRun(row[0], row[1], bool(row[2])) if row else None


def after(connection: sqlite3.Connection, thread_id: str, run: int, last: int) -> list[Numbered]:
    """Return the first events of a run that are numbered above `last`, `PAGE` at most."""
    rows = connection.execute(
        """SELECT id, event, data FROM graph_agent_events WHERE thread_id = ?1 AND id > ?3
        AND EXISTS (SELECT 1 FROM graph_agent_runs WHERE thread_id = ?1 AND number = ?2)
        ORDER BY id LIMIT ?4""",
        (thread_id, run, last, PAGE),
    )
    return [from_row(*row) for row in rows]


def delete(connection: sqlite3.Connection, thread_id: str) -> None:
    """Forget all that is stored for a thread."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        _forget(connection, thread_id)


def _forget(connection: sqlite3.Connection, thread_id: str) -> None:
    for table in ("events", "runs", "cancels"):
        connection.execute(f"DELETE FROM graph_agent_{table} WHERE thread_id = ?", (thread_id,))


def ask_to_cancel(connection: sqlite3.Connection, thread_id: str, run: int) -> None:
    """Ask whoever runs it to cancel a run."""
    connection.execute("INSERT OR REPLACE INTO graph_agent_cancels VALUES (?, ?)", (thread_id, run))


def cancels(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """List the runs that are to be cancelled: thread and number."""
    return connection.execute("SELECT thread_id, run FROM graph_agent_cancels").fetchall()
