"""A run is followed and cancelled from another process, after a restart, and after a death.

Each `Runs` here has opened the database for itself, as a process of its own would have.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graph_agent import ReActAgent, ThreadBusyError
from graph_agent.backends import Backend, open_backend
from graph_agent.backends.events import Numbered
from graph_agent.events import (
    AnswerDelta,
    AnswerSignal,
    AnswerStart,
    CallStart,
    End,
    Event,
    ThinkingStart,
)
from graph_agent.runs.runs import Run, Runs
from graph_agent.runs.stored_log import INTERRUPTED, StoredLog, numbered_from, telling
from graph_agent.testing import ScriptedChatModel, check_events

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True),
]

OpenRuns = Callable[..., Runs]
CALL = AIMessage("", tool_calls=[{"id": "c1", "name": "wait", "args": {}, "type": "tool_call"}])


class Gate:
    """A tool that waits until the test lets it go."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.leave = asyncio.Event()

    async def wait(self) -> str:
        """Wait."""
        self.reached.set()
        await self.leave.wait()
        return "left"


@pytest.fixture
async def open_runs(database: str) -> AsyncIterator[OpenRuns]:
    opened: list[tuple[ReActAgent, Runs]] = []

    def open_one(*replies: Any, tools: Any = ()) -> Runs:
        agent = ReActAgent(ScriptedChatModel(replies=[*replies]), tools, database=database)
        opened.append((agent, Runs(agent)))
        return opened[-1][1]

    yield open_one
    for agent, runs in opened:
        await runs.aclose()
        await agent.aclose()


@pytest.fixture
async def backend(database: str) -> AsyncIterator[Backend]:
    opened = await open_backend(database)
    yield opened
    await opened.close()


async def all_of(events: AsyncGenerator[Numbered] | None) -> list[Numbered]:
    """Read a run to its end."""
    assert events is not None
    async with asyncio.timeout(20):
        return [numbered async for numbered in events]


async def told(run: Run) -> list[Numbered]:
    return await all_of(run.log.follow())


def check(events: list[Numbered]) -> None:
    """Check the order of events, and of their numbers."""
    check_events([{**numbered.event} for numbered in events])
    ids = [numbered.id for numbered in events]
    assert ids == sorted(set(ids))


async def test_another_process_follows_a_run_live(open_runs: OpenRuns) -> None:
    gate, theirs = Gate(), open_runs()
    ours = open_runs(CALL, "draft", "one\ntwo\nthree", tools=[gate.wait])
    run = await ours.start("t", "Go")
    await gate.reached.wait()

    following = await theirs.follow("t")
    assert following is not None
    first = await anext(following)
    running = await theirs.running("t")
    gate.leave.set()
    rest = await all_of(following)

    assert running
    assert [first, *rest] == await told(run)
    check([first, *rest])
    assert not await theirs.running("t")


async def test_whoever_sees_the_end_finds_it_everywhere(open_runs: OpenRuns) -> None:
    ours, theirs = open_runs(*("yes" for _ in range(10))), open_runs()

    for _ in range(10):
        events = await told(await ours.start("t", "Hi"))
        assert await all_of(await theirs.follow("t")) == events


async def test_after_a_restart_events_are_read_again_from_any_place(open_runs: OpenRuns) -> None:
    events = await told(await open_runs("one\ntwo").start("t", "Hi"))
    restarted = open_runs("again")

    for place, numbered in enumerate(events):
        assert await all_of(await restarted.follow("t", numbered.id)) == events[place + 1 :]
    for unknown in (0, 9, events[0].id - 1, events[-1].id + 1, 2**63 - 1, 2**63, -(2**63)):
        assert await all_of(await restarted.follow("t", unknown)) == events
    assert await restarted.follow("another") is None
    second = await told(await restarted.start("t", "And now?"))
    assert await all_of(await restarted.follow("t", events[2].id)) == second


async def test_numbers_grow_whatever_process_runs(open_runs: OpenRuns) -> None:
    both = [open_runs(*("yes" for _ in range(5))) for _ in range(2)]
    ids: list[int] = []

    for runs in both * 5:
        ids += [numbered.id for numbered in await told(await runs.start("t", "Hi"))]

    assert ids == sorted(set(ids))


async def test_a_run_that_is_refused_leaves_the_events_of_the_other(open_runs: OpenRuns) -> None:
    gate, theirs = Gate(), open_runs("never")
    ours = open_runs(CALL, "draft", "Done.", tools=[gate.wait])
    run = await ours.start("t", "Go")
    await gate.reached.wait()

    with pytest.raises(ThreadBusyError, match="Thread t is busy"):
        await theirs.start("t", "Me too")
    gate.leave.set()

    events = await told(run)
    check(events)
    assert await all_of(await theirs.follow("t")) == events


async def test_another_process_cancels_a_run(open_runs: OpenRuns) -> None:
    gate, theirs = Gate(), open_runs("Here.")
    ours = open_runs(CALL, tools=[gate.wait])
    run = await ours.start("t", "Go")
    await gate.reached.wait()

    cancelled = await theirs.cancel("t")
    events = await told(run)
    again = await told(await theirs.start("t", "Still there?"))

    assert cancelled
    check(events)
    assert events[-2].event["data"]["code"] == "cancelled"
    assert again[-2].event["data"]["answer"] == "Here."
    assert await theirs.cancel("t") is False
    assert await ours.cancel("t") is False


async def test_a_cancel_hits_no_other_run(open_runs: OpenRuns) -> None:
    gate, theirs = Gate(), open_runs("Yes.", "Yes.")
    ours = open_runs(CALL, "draft", "Done.", tools=[gate.wait])
    going_on = await ours.start("u", "Go")
    await gate.reached.wait()
    await told(await theirs.start("t", "Hi"))

    assert await ours.cancel("t") is False
    await told(await theirs.start("t", "Hi"))
    gate.leave.set()

    assert (await told(going_on))[-2].event["data"]["answer"] == "Done."


async def broken_off(backend: Backend, *opened: str) -> int:
    """Store a run whose process died, with something open; return its number."""
    call = {"iteration": 1, "call_id": "c1", "tool_name": "add", "tool_args": {"a": "서울"}}
    known: dict[str, list[Event]] = {
        "thinking": [ThinkingStart(iteration=1)],
        "call": [CallStart.model_validate(call)],
        "answer": [AnswerSignal(), AnswerStart(), AnswerDelta(content="Half of")],
    }
    events = [event.wire() for name in opened for event in known[name]]
    number = await backend.events.begin("t")
    if events:
        await backend.events.append("t", number, numbered_from(number, events))
    return number


async def follow(backend: Backend, after: int = 0) -> list[Numbered]:
    run = await backend.events.run("t")
    assert run is not None
    return await all_of(StoredLog(backend, "t", run).follow(after))


@pytest.mark.parametrize("opened", ["", "thinking", "call", "answer"])
async def test_a_run_whose_process_died_gets_an_end_that_stays(
    backend: Backend, database: str, opened: str
) -> None:
    number = await broken_off(backend, *([opened] if opened else []))
    other = await open_backend(database)

    first, second = await asyncio.gather(follow(backend), follow(other))
    await other.close()

    events = [{**numbered.event} for numbered in first]
    check_events(events, resumed=opened == "call")
    assert second == first == await follow(backend)
    assert [event["data"] for event in events[-2:]] == [INTERRUPTED.wire()["data"], {}]
    ids = [numbered.id for numbered in first]
    assert ids == sorted(set(ids))
    assert ids[-1] > number + 10**5  # Above whatever it told and did not store.
    assert await backend.events.begin("t") > ids[-1]


async def test_who_saw_more_of_a_dead_run_than_was_stored_gets_all_of_it_again(
    backend: Backend,
) -> None:
    number = await broken_off(backend, "thinking")

    again = await follow(backend, after=number + 3)

    assert again == await follow(backend)
    assert again[0].id == number


async def test_a_run_is_not_dead_while_somebody_tells_it(backend: Backend, database: str) -> None:
    number = await broken_off(backend, "thinking")
    other = await open_backend(database)
    reading: asyncio.Future[list[Numbered]] | None = None
    async with other.leases.hold(telling("t")), other.events.watch("t") as changed:
        reading = asyncio.ensure_future(follow(backend))
        await changed()
        await changed()
        assert not reading.done()
        await broken_off(other)

    replaced = await reading
    await other.close()

    assert [numbered.id for numbered in replaced] == [number]


async def test_one_who_lost_its_lease_stores_nothing_more(
    backend: Backend, open_runs: OpenRuns
) -> None:
    gate = Gate()
    ours = open_runs(CALL, "draft", "Done.", tools=[gate.wait])
    run = await ours.start("t", "Go")
    await gate.reached.wait()
    async with backend.events.watch("t") as changed:
        while (stored := await backend.events.run("t")) is None or stored.newest < stored.number:
            await changed()
    closing = numbered_from(stored.newest + 10**6, [INTERRUPTED.wire(), End().wire()])
    await backend.events.append("t", stored.number, closing)

    gate.leave.set()

    events = await told(run)
    check(events)
    assert events[-2].event["data"]["answer"] == "Done."
    assert (await follow(backend))[-2:] == closing
