"""Runs belong to nobody's connection: started, followed, stopped, one on a thread at a time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graph_agent import ConfigError, ReActAgent, ThreadBusyError
from graph_agent.events import WireEvent
from graph_agent.runs.runs import Run, Runs
from graph_agent.testing import Gate, Held, ScriptedChatModel, check_events

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
CALL = AIMessage(
    "", tool_calls=[{"id": "c1", "name": "wait_here", "args": {}, "type": "tool_call"}]
)


class Station:
    """A tool that waits until the test lets it go."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.leave = asyncio.Event()
        self.cancelled = False

    async def arrival(self) -> None:
        """Wait until the tool runs."""
        await asyncio.wait_for(self.reached.wait(), 10)

    async def wait_here(self) -> str:
        """Wait."""
        self.reached.set()
        try:
            await self.leave.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return "left"


@pytest.fixture
async def make_runs() -> AsyncIterator[Callable[..., Runs]]:
    made: list[tuple[ReActAgent, Runs]] = []

    def make(*replies: Any, tools: Any = ()) -> Runs:
        agent = ReActAgent(ScriptedChatModel(replies=[*replies]), tools, database="memory:")
        made.append((agent, Runs(agent)))
        return made[-1][1]

    yield make
    for agent, runs in made:
        await runs.aclose()
        await agent.aclose()


async def told(run: Run) -> list[WireEvent]:
    """Read a run to its end and check the order of its events."""
    events = [numbered.event async for numbered in run.log.follow()]
    check_events(events)
    return events


async def followed(runs: Runs, thread_id: str, after: int = 0) -> list[WireEvent]:
    """Read the thread's newest run again."""
    events = await runs.follow(thread_id, after)
    assert events is not None
    return [numbered.event async for numbered in events]


async def test_a_run_goes_on_with_nobody_watching(make_runs: Callable[..., Runs]) -> None:
    runs = make_runs("Hello!")

    run = await runs.start("t", "Hi")

    during = [run.running, await runs.running("t"), runs.in_progress]
    assert (await told(run))[-2]["data"]["answer"] == "Hello!"
    after = [run.running, await runs.running("t"), runs.in_progress]
    assert (during, after) == ([True, True, 1], [False, False, 0])


async def test_a_second_run_on_a_thread_is_refused(make_runs: Callable[..., Runs]) -> None:
    runs = make_runs("one", "two")
    first = await runs.start("t", "Hi")

    with pytest.raises(ThreadBusyError):
        await runs.start("t", "Me too")

    assert await followed(runs, "t") == await told(first)


async def test_twenty_runs_one_right_after_the_end_of_the_other(
    make_runs: Callable[..., Runs],
) -> None:
    runs = make_runs(*("yes" for _ in range(20)))
    ids: list[int] = []

    for _ in range(20):
        run = await runs.start("t", "Hi")
        async for numbered in run.log.follow():
            ids.append(numbered.id)

    assert len(ids) == 20 * 8
    assert ids == sorted(set(ids))


async def test_a_run_that_cannot_begin_leaves_the_one_before_to_be_read(
    make_runs: Callable[..., Runs],
) -> None:
    runs = make_runs("one")
    first = await runs.start("t", "Hi")
    await told(first)

    with pytest.raises(ConfigError, match="empty"):
        await runs.start("t", " ")
    with pytest.raises(ConfigError, match="empty"):
        await runs.start("new", "")

    assert await followed(runs, "t") == await told(first)
    assert await runs.follow("new") is None


async def test_cancelling_stops_the_tool_and_tells_it(make_runs: Callable[..., Runs]) -> None:
    station = Station()
    runs = make_runs(CALL, "Back.", "Back.", tools=[station.wait_here])
    run = await runs.start("t", "Go")
    await station.arrival()

    assert all(await asyncio.gather(runs.cancel("t"), runs.cancel("t")))

    assert station.cancelled
    assert not run.running
    assert [e["data"].get("code") for e in (await told(run))[-2:]] == ["cancelled", None]
    assert await runs.cancel("t") is False
    again = await runs.start("t", "Still there?")
    assert (await told(again))[-2]["data"]["answer"] == "Back."


async def test_a_run_may_be_cancelled_before_its_first_step(
    make_runs: Callable[..., Runs],
) -> None:
    runs = make_runs("never asked for")

    run, cancelled = await asyncio.gather(runs.start("t", "Hi"), runs.cancel("t"))

    assert cancelled
    assert [e["event"] for e in await told(run)] == ["error", "end"]


async def test_cancelling_what_does_not_run_is_no_fault(make_runs: Callable[..., Runs]) -> None:
    assert await make_runs().cancel("nowhere") is False


async def test_closing_stops_all_runs(make_runs: Callable[..., Runs]) -> None:
    station = Station()
    runs = make_runs(CALL, tools=[station.wait_here])
    run = await runs.start("t", "Go")
    await station.arrival()

    await runs.aclose()

    assert [e["event"] for e in (await told(run))[-2:]] == ["error", "end"]


@pytest.mark.parametrize("moment", ["the model thinks", "a tool runs", "the answer streams"])
async def test_after_a_cancel_the_next_question_is_answered(
    set_stage: SetStage, speech: Any, moment: str
) -> None:
    station, gate = Station(), Gate()
    call, draft = speech.calls(("wait_here", {})), speech.final("draft")
    script = {
        "the model thinks": [Held(gate, call)],
        "a tool runs": [call],
        "the answer streams": [call, draft, Held(gate, "never")],
    }
    stage = set_stage([*script[moment]], [station.wait_here])
    if moment == "the answer streams":
        station.leave.set()
    runs = Runs(stage.agent)
    run = await runs.start("thread", "First question")
    await (station.arrival() if moment == "a tool runs" else gate.reached())

    await runs.cancel("thread")
    gate.open()
    check_events([numbered.event async for numbered in run.log.follow()])
    stage.endpoint.reply(speech.final("Second answer"), "Second answer")

    assert await stage.answer("Second question") == "Second answer"
    assert stage.endpoint.rejected == []
    asked = str(stage.endpoint.requests[-1].body["messages"])
    assert "Second question" in asked


async def test_whoever_follows_a_cancelled_run_is_let_go(set_stage: SetStage, speech: Any) -> None:
    gate = Gate()
    stage = set_stage([Held(gate, speech.final("never"))])
    runs = Runs(stage.agent)
    run = await runs.start("thread", "Hi")
    followers = [asyncio.ensure_future(told(run)) for _ in range(3)]
    await gate.reached()

    await runs.cancel("thread")
    gate.open()

    first, *others = await asyncio.gather(*followers)
    assert others == [first, first]
