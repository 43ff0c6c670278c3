"""Writes are committed when they return, in order, and a bad one harms no other of its group."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from types import NoneType

import pytest

from graph_agent.backends.grouped_writes import GroupedWrites
from graph_agent.backends.sqlite_statements import connect

pytestmark = pytest.mark.anyio
INSERT = "INSERT INTO t VALUES (?)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "t.sqlite"
    connection = connect(file)
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    connection.close()
    return file


@pytest.fixture
async def writes(path: Path) -> AsyncIterator[GroupedWrites]:
    opened = GroupedWrites(lambda: connect(path))
    yield opened
    await opened.close()


def kept(path: Path) -> list[int]:
    """What another connection sees."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT n FROM t ORDER BY rowid").fetchall()
    connection.close()
    return [n for (n,) in rows]


async def test_what_was_awaited_is_seen_by_others(path: Path, writes: GroupedWrites) -> None:
    await writes.execute(INSERT, [(1,), (2,)]).done

    assert kept(path) == [1, 2]


async def test_many_at_once_are_all_committed(path: Path, writes: GroupedWrites) -> None:
    await asyncio.gather(*(writes.execute(INSERT, [(n,)]).done for n in range(500)))

    assert kept(path) == list(range(500))


async def test_one_that_fails_fails_alone_and_whole(path: Path, writes: GroupedWrites) -> None:
    asked = [[(1,)], [(2,), (1,)], [(3,)]]

    outcomes = await asyncio.gather(
        *(writes.execute(INSERT, rows).done for rows in asked), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [
        type(None),
        sqlite3.IntegrityError,
        type(None),
    ]
    assert kept(path) == [1, 3]


@pytest.mark.parametrize("together", [True, False], ids=["in one group", "later"])
async def test_one_that_needs_a_failed_one_is_not_written(
    path: Path, writes: GroupedWrites, together: bool
) -> None:
    fails = writes.execute(INSERT, [(1,), (1,)])
    if not together:
        await asyncio.wait([fails.done])
    needing = writes.execute(INSERT, [(2,)], needs=[fails])
    other = writes.execute(INSERT, [(3,)])

    outcomes = await asyncio.gather(needing.done, other.done, fails.done, return_exceptions=True)

    assert list(map(type, outcomes)) == [sqlite3.IntegrityError, NoneType, sqlite3.IntegrityError]
    assert kept(path) == [3]


async def test_whoever_gives_up_waiting_harms_nobody(path: Path, writes: GroupedWrites) -> None:
    # The writer cannot begin before the lock is gone, so the first one surely waits.
    lock = connect(path)
    lock.execute("BEGIN IMMEDIATE")
    waiting = writes.execute(INSERT, [(1,)]).done
    await asyncio.sleep(0)
    waiting.cancel()
    lock.execute("COMMIT")
    lock.close()

    await writes.execute(INSERT, [(2,)]).done

    assert waiting.cancelled()
    assert kept(path) == [1, 2]


async def test_what_may_wait_is_committed_once_it_is_settled(
    path: Path, writes: GroupedWrites
) -> None:
    given_up = writes.execute(INSERT, [(1,)], lag=60)
    given_up.done.cancel()

    await writes.settled()

    assert kept(path) == [1]


async def test_what_may_wait_goes_with_what_does_not(path: Path, writes: GroupedWrites) -> None:
    writes.execute(INSERT, [(1,)], lag=60)
    await writes.execute(INSERT, [(2,)]).done

    assert kept(path) == [1, 2]


async def test_closing_commits_what_waits(path: Path) -> None:
    writes = GroupedWrites(lambda: connect(path))
    waiting = [writes.execute(INSERT, [(n,)]).done for n in range(50)]

    await writes.close()
    await asyncio.gather(*waiting)

    assert kept(path) == list(range(50))
