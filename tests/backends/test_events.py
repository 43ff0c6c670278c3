"""One contract for everything that a run's events can be kept in."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from graph_agent import ConfigError
from graph_agent.backends import Backend, open_backend
from graph_agent.backends.bells import Bells
from graph_agent.backends.events import GAP, PAGE, EventStore, Numbered, StoredRun
from graph_agent.backends.memory_events import MemoryEvents
from graph_agent.backends.postgres_news import News
from graph_agent.events import AnswerDelta, End

pytestmark = pytest.mark.anyio

HOUR = 3600.0
TEXT = "안녕 🙂 NUL \x00 quote ' \" \\ \u2028 {curly} %s"


@pytest.fixture
async def backend(database: str) -> AsyncIterator[Backend]:
    opened = await open_backend(database)
    yield opened
    await opened.close()


@pytest.fixture
def events(backend: Backend) -> EventStore:
    return backend.events


@pytest.fixture
async def other(database: str, events: EventStore) -> AsyncIterator[EventStore]:
    """The same store as another process has it."""
    if database == "memory:":
        yield events
        return
    opened = await open_backend(database)
    yield opened.events
    await opened.close()


def deltas(first: int, count: int) -> list[Numbered]:
    return [Numbered(first + n, AnswerDelta(content=f"{n} {TEXT}").wire()) for n in range(count)]


def end(number: int) -> Numbered:
    return Numbered(number, End().wire())


async def test_what_is_stored_is_read_after_any_of_it(
    events: EventStore, other: EventStore
) -> None:
    run = await events.begin("t")
    told = [*deltas(run, 5), end(run + 5)]

    assert await events.append("t", run, told[:2])
    assert await events.append("t", run, told[2:])

    assert [await other.after("t", run, run - 1 + count) for count in range(7)] == [
        told[count:] for count in range(7)
    ]
    assert await other.run("t") == StoredRun(run, run + 5, ended=True)


async def test_a_run_without_events_is_known(events: EventStore) -> None:
    run = await events.begin("t")

    assert await events.run("t") == StoredRun(run, run - 1, ended=False)
    assert await events.after("t", run, 0) == []
    assert await events.run("unknown") is None
    assert await events.after("unknown", run, 0) == []


async def test_much_is_read_a_page_at_a_time(events: EventStore) -> None:
    run = await events.begin("t")
    told = deltas(run, PAGE + 1)
    await events.append("t", run, told)

    assert await events.after("t", run, 0) == told[:PAGE]
    assert await events.after("t", run, told[PAGE - 1].id) == told[PAGE:]


async def test_only_the_newest_run_of_a_thread_is_kept(
    events: EventStore, other: EventStore
) -> None:
    first = await events.begin("t")
    await events.append("t", first, [*deltas(first, 3), end(first + 3)])
    untouched = await events.begin("u")
    await events.append("u", untouched, deltas(untouched, 1))

    second = await other.begin("t")

    assert second > first + 3
    assert await events.after("t", first, 0) == []
    assert await events.after("t", second, 0) == []
    assert not await events.append("t", first, deltas(first + 4, 1))
    assert await other.after("u", untouched, 0) == deltas(untouched, 1)


async def test_numbers_of_a_thread_only_grow(events: EventStore, other: EventStore) -> None:
    ids: list[int] = []
    for store in (events, other) * 5:
        run = await store.begin("t")
        told = [*deltas(run, 100), end(run + 100)]
        await store.append("t", run, told)
        ids += [numbered.id for numbered in told]

    assert ids == sorted(set(ids))


async def test_a_clock_that_was_set_back_gives_no_number_twice(events: EventStore) -> None:
    ahead = 2**52
    run = await events.begin("t")
    await events.append("t", run, [Numbered(ahead, AnswerDelta(content="late").wire())])

    broken_off = await events.begin("t")
    await events.append("t", broken_off, [end(broken_off)])
    whole = await events.begin("t")

    assert broken_off == ahead + GAP
    assert whole == broken_off + 1


async def test_an_ended_run_takes_no_more_events(events: EventStore, other: EventStore) -> None:
    run = await events.begin("t")
    await other.append("t", run, [end(run)])

    assert not await events.append("t", run, deltas(run + 1, 1))
    assert await events.after("t", run, 0) == [end(run)]


async def test_half_a_character_and_a_huge_number_are_replaced(events: EventStore) -> None:
    run = await events.begin("t")
    data: dict[str, Any] = {"half \ud83d": ["\udc00", 2**70], "whole": "🙂"}
    await events.append("t", run, [Numbered(run, {"event": "step", "data": data})])

    (read,) = await events.after("t", run, 0)

    kept = {"half ?": ["?", str(2**70)], "whole": "🙂"}
    assert read.event["data"] in (kept, data)  # Memory keeps what it was given.


@pytest.mark.parametrize("name", ["t'; DROP TABLE x", "서울", "a" * 9000, "t.1", "%s"])
async def test_a_thread_may_have_any_name(events: EventStore, other: EventStore, name: str) -> None:
    run = await events.begin(name)
    async with other.watch(name) as changed:
        await events.append(name, run, deltas(run, 1))
        await asyncio.wait_for(changed(), 10)

    assert await other.after(name, run, 0) == deltas(run, 1)


async def test_a_deleted_thread_has_no_events(events: EventStore, other: EventStore) -> None:
    run = await events.begin("t")
    await events.append("t", run, deltas(run, 1))
    await events.ask_to_cancel("t", run)

    await other.delete("t")
    await other.delete("unknown")

    assert await events.run("t") is None
    assert await events.after("t", run, 0) == []
    assert await events.cancels() == []
    assert not await events.append("t", run, deltas(run + 1, 1))


async def test_a_cancel_is_asked_for_until_the_run_has_ended(
    events: EventStore, other: EventStore
) -> None:
    first, second = await events.begin("t"), await events.begin("u")
    await other.ask_to_cancel("t", first)
    await other.ask_to_cancel("t", first)
    await other.ask_to_cancel("u", second)

    asked = sorted(await events.cancels())
    await events.append("t", first, deltas(first, 1))
    going_on = len(await other.cancels())
    await events.append("t", first, [end(first + 1)])
    await events.begin("u")

    assert asked == [("t", first), ("u", second)]
    assert going_on == 2
    assert await other.cancels() == []


@pytest.mark.parametrize("what", ["events", "cancels"])
async def test_who_waits_is_told_of_what_is_new(
    events: EventStore, other: EventStore, what: str
) -> None:
    run = await events.begin("t")
    watching = other.watch("t") if what == "events" else other.watch_cancels()

    async def seen() -> bool:
        found = await other.run("t")
        assert found is not None
        return found.newest == run or await other.cancels() == [("t", run)]

    async with asyncio.timeout(10), watching as changed:
        before = await seen()
        if what == "events":
            await events.append("t", run, deltas(run, 1))
        else:
            await events.ask_to_cancel("t", run)
        while not await seen():
            await changed()

    assert not before


async def test_what_changes_between_two_looks_is_not_missed() -> None:
    bells = Bells(HOUR)
    async with asyncio.timeout(10), bells.watch("t") as changed, bells.watch("u") as other:
        bells.ring("t")
        await changed()
        bells.ring_all()
        await changed()
        await other()
        waiting = asyncio.ensure_future(changed())
        await asyncio.wait([waiting], timeout=0.01)
        assert not waiting.done()
        bells.ring("t")
        await waiting
    bells.ring("t")


async def test_a_bell_is_heard_on_another_event_loop() -> None:
    bells, listening = Bells(HOUR), threading.Event()

    async def listen() -> None:
        async with asyncio.timeout(10), bells.watch("t") as changed:
            listening.set()
            await changed()

    heard = asyncio.ensure_future(asyncio.to_thread(asyncio.run, listen()))
    await asyncio.to_thread(listening.wait)
    bells.ring("t")

    await heard


async def test_whoever_hears_nothing_looks_for_itself_in_the_end() -> None:
    async with asyncio.timeout(10), Bells(0.01).watch("t") as changed:
        await changed()


async def test_of_many_ended_runs_memory_forgets_the_oldest() -> None:
    events = MemoryEvents(keep=2)
    going_on = await events.begin("going on")
    for name in ("a", "b", "c"):
        run = await events.begin(name)
        await events.append(name, run, [end(run)])
    await events.begin("d")

    known = [await events.run(name) is not None for name in ("going on", "a", "b", "c", "d")]

    assert known == [True, False, False, False, True]
    assert await events.append("going on", going_on, [end(going_on)])


@pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
async def test_events_outlive_their_process(database: str) -> None:
    backend = await open_backend(database)
    run = await backend.events.begin("t")
    told = [*deltas(run, 2), end(run + 2)]
    await backend.events.append("t", run, told)
    await backend.close()

    backend = await open_backend(database)
    again = await backend.events.after("t", run, 0)
    following = await backend.events.begin("t")
    await backend.close()

    assert again == told
    assert following > told[-1].id


def set_form(database: str, tmp_path: Path, version: int) -> None:
    """Say that the tables are of another version of the package."""
    statement = f"UPDATE graph_agent_schema SET version = {version} WHERE name = 'events'"
    if database.startswith("sqlite"):
        with closing(sqlite3.connect(tmp_path / "t.sqlite")) as file, file:
            file.execute(statement)
    else:
        with psycopg.connect(database) as server:
            server.execute(statement)


@pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
async def test_tables_of_a_later_version_are_refused(database: str, tmp_path: Path) -> None:
    await (await open_backend(database)).close()
    set_form(database, tmp_path, 2)

    with pytest.raises(ConfigError, match=r"in form 2, and .* no form above 1\. Update"):
        await open_backend(database)

    set_form(database, tmp_path, 1)
    await (await open_backend(database)).close()


async def test_news_come_again_after_the_connection_broke(postgres_url: str) -> None:
    news = News(postgres_url, longest_wait=HOUR)
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        async with asyncio.timeout(20), news.watch("t") as changed:
            await changed()  # It listens.
            admin.execute("SELECT pg_notify('graph_agent', 't')")
            await changed()
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE query LIKE 'LISTEN%'"
            )
            await changed()  # It listens again.
            admin.execute("SELECT pg_notify('graph_agent', 't')")
            await changed()
    await news.close()
