"""The log of a run: everyone gets every event once, and what breaks off is closed."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graph_agent import ReActAgent
from graph_agent.events import End, WireEvent
from graph_agent.runs.event_log import KEPT, EventLog, Numbered, closing_events
from graph_agent.runs.runs import CANCELLED
from graph_agent.testing import ScriptedChatModel, check_events

pytestmark = pytest.mark.anyio

END = End().wire()


def event(number: int) -> WireEvent:
    return {"event": "answer", "data": {"status": "delta", "content": str(number)}}


def log_of(count: int, *, first_id: int = 1) -> EventLog:
    log = EventLog(first_id=first_id)
    for number in range(count):
        log.append(event(number))
    return log


async def read(log: EventLog, after: int = 0) -> list[Numbered]:
    return [numbered async for numbered in log.follow(after)]


async def test_who_comes_late_gets_all_of_it() -> None:
    log = log_of(2)
    log.append(END)

    assert await read(log) == [Numbered(1, event(0)), Numbered(2, event(1)), Numbered(3, END)]


@pytest.mark.parametrize(
    ("after", "ids"),
    [
        pytest.param(0, [5, 6, 7], id="from the beginning"),
        pytest.param(3, [5, 6, 7], id="an id of an earlier run"),
        pytest.param(4, [5, 6, 7], id="the last id before"),
        pytest.param(5, [6, 7], id="in the middle"),
        pytest.param(7, [], id="all was read"),
        pytest.param(8, [5, 6, 7], id="an id that was never given"),
        pytest.param(10**9, [5, 6, 7], id="an id of another server"),
        pytest.param(-3, [5, 6, 7], id="negative"),
    ],
)
@pytest.mark.parametrize("live", [False, True], ids=["ended", "in progress"])
async def test_following_goes_on_after_the_last_event(
    after: int, ids: list[int], live: bool
) -> None:
    log = log_of(3, first_id=5)
    reader = asyncio.ensure_future(read(log, after))
    if live:
        await asyncio.wait([reader], timeout=0.01)
        assert not reader.done()
        log.append(END)
        ids = [*ids, 8]
    log.close()

    assert [numbered.id for numbered in await reader] == ids


async def test_two_followers_and_one_who_never_reads_do_not_hinder_each_other() -> None:
    log = log_of(1)
    lazy = log.follow()
    first, second = (asyncio.ensure_future(read(log)) for _ in range(2))
    await anext(lazy)

    for number in range(1, 1000):
        log.append(event(number))
    log.append(END)

    assert await first == await second == await read(log)
    assert [numbered.id for numbered in await first] == [*range(1, 1002)]
    assert (await anext(lazy)).id == 2


async def test_a_log_that_closes_without_an_end_lets_its_followers_go() -> None:
    log = EventLog()
    assert log.next_id > 10**15  # Microseconds: above all numbers that were given before.
    reader = asyncio.ensure_future(read(log))
    await asyncio.wait([reader], timeout=0.01)

    log.close()

    assert await reader == []


async def test_what_is_stored_leaves_memory_and_still_reaches_a_slow_reader() -> None:
    stored: list[Numbered] = []

    async def older(last: int) -> list[Numbered]:
        return [numbered for numbered in stored if numbered.id > last][:100]

    log = EventLog()
    log.stored_from(11, older)
    slow = log.follow()
    stored.append(log.append(event(0)))
    seen = [await anext(slow)]
    for number in range(1, 1000):
        stored.append(log.append(event(number)))
        log.forget(log.next_id - 1)
    log.append(END)

    assert log.in_memory == KEPT + 1
    seen += [numbered async for numbered in slow]
    assert [numbered.id for numbered in seen] == [*range(11, 1012)]
    assert seen[:-1] == stored
    assert await read(log, 500) == seen[490:]


async def test_what_is_not_stored_stays_in_memory() -> None:
    async def older(_: int) -> list[Numbered]:
        pytest.fail("nothing was stored")

    log = EventLog()
    log.stored_from(1, older)
    for number in range(1000):
        log.append(event(number))
    log.forget(0)
    log.append(END)

    assert len(await read(log)) == 1001


async def test_a_reader_too_slow_for_the_next_run_is_let_go_without_an_end() -> None:
    async def forgotten(_: int) -> list[Numbered]:
        return []

    log = EventLog()
    log.stored_from(1, forgotten)
    slow = log.follow()
    log.append(event(0))
    first = await anext(slow)
    for number in range(1, 1000):
        log.append(event(number))
        log.forget(log.next_id - 1)
    log.append(END)

    assert [first, *[numbered async for numbered in slow]] == [Numbered(1, event(0))]


@pytest.fixture
async def whole_run() -> list[WireEvent]:
    """Two parallel calls, one of which fails, then a streamed answer."""

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        if a < 0:
            raise ValueError("too small")
        return a + b

    calls: Any = [
        {"id": f"c{a}", "name": "add", "args": {"a": a, "b": 1}, "type": "tool_call"}
        for a in (1, -1)
    ]
    model = ScriptedChatModel(replies=[AIMessage("", tool_calls=calls), "draft", "one\ntwo\nthree"])
    async with ReActAgent(model, [add], database="memory:") as agent:
        return [event async for event in agent.stream("Go")]


async def test_wherever_a_run_breaks_off_every_start_gets_its_end(
    whole_run: list[WireEvent],
) -> None:
    check_events(whole_run)
    assert len(whole_run) == 16

    for cut in range(len(whole_run) - 1):
        told = whole_run[:cut]
        missing = closing_events(told, why="Cancelled.")
        check_events([*told, *missing, CANCELLED.wire(), END])


async def test_the_closing_of_a_call_says_why(whole_run: list[WireEvent]) -> None:
    starts = [e for e in whole_run if e["data"].get("call_id") and e["data"]["status"] == "start"]

    missing = closing_events(starts, why="Cancelled.")

    assert [e["data"] for e in missing] == [
        {
            **start["data"],
            "status": "done",
            "observation": "Cancelled.",
            "error": True,
            "iter_elapsed": 0.0,
            "artifacts": [],
        }
        for start in starts
    ]
