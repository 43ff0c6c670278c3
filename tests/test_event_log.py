"""The log of a run: everyone gets every event once, and what breaks off is closed."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graph_agent import ReActAgent
from graph_agent.event_log import EventLog, Numbered, closing_events
from graph_agent.events import End, WireEvent
from graph_agent.runs import CANCELLED
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

    assert await first == await second == log.events
    assert len(log.events) == 1001
    assert (await anext(lazy)).id == 2


async def test_a_log_that_closes_without_an_end_lets_its_followers_go() -> None:
    log = EventLog()
    reader = asyncio.ensure_future(read(log))
    await asyncio.wait([reader], timeout=0.01)

    log.close()

    assert await reader == []


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
