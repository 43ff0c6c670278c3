"""What becomes of a run whose client goes away: real connections that are torn down."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from graph_agent.runs.event_log import KEPT
from graph_agent.testing import Gate, Held, check_events
from graph_agent.testing.replies import Deltas

pytestmark = pytest.mark.anyio

Serve = Callable[..., Awaitable[Any]]
SetStage = Callable[..., Any]
QUESTION = b'{"message":"Go"}'


class Beat:
    """A tool that works for ever."""

    def __init__(self) -> None:
        self.beating = asyncio.Event()
        self.stopped = asyncio.Event()

    async def beat(self) -> None:
        """Beat."""
        self.beating.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
async def test_tools_stop_where_the_client_that_asked_takes_the_run_along(
    serve: Serve, set_stage: SetStage, speech: Any, accept: str
) -> None:
    work = Beat()
    script = [speech.calls(("beat", {})), speech.final("Here."), "Here."]
    stage = set_stage(script, [work.beat], on_disconnect="cancel")
    web = await serve(stage.agent)
    thread = await web.thread()
    _, writer = await web.connect("POST", f"{thread}/runs", QUESTION, accept)
    await asyncio.wait_for(work.beating.wait(), 10)
    follower = asyncio.ensure_future(web.follow(thread))

    writer.transport.abort()

    await asyncio.wait_for(work.stopped.wait(), 10)
    events = await follower
    check_events([event.wire for event in events])
    assert events[-2].data["code"] == "cancelled"
    assert (await web.ask(thread, "Still there?"))[-2].data["answer"] == "Here."
    assert stage.endpoint.rejected == []


async def test_the_model_is_left_where_the_client_takes_the_run_along(
    serve: Serve, set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    stage = set_stage([Held(gate, speech.final("never"))], on_disconnect="cancel")
    web = await serve(stage.agent)
    thread = await web.thread()
    _, writer = await web.connect("POST", f"{thread}/runs", QUESTION)
    await gate.reached()
    follower = asyncio.ensure_future(web.follow(thread))

    writer.transport.abort()

    events = await follower
    gate.open()
    check_events([event.wire for event in events])
    assert [event.event for event in events] == ["step", "step", "error", "end"]
    assert (await web.client.get(thread)).json()["running"] is False


@pytest.mark.parametrize("on_disconnect", ["continue", "cancel"])
async def test_whoever_only_follows_takes_nothing_along(
    serve: Serve, set_stage: SetStage, speech: Any, on_disconnect: str
) -> None:
    gate = Gate()
    stage = set_stage([Held(gate, speech.final("Here."))], on_disconnect=on_disconnect)
    web = await serve(stage.agent)
    thread = await web.thread()
    asking = asyncio.ensure_future(web.ask(thread, "Go"))
    await gate.reached()
    reader, writer = await web.connect("GET", f"{thread}/events")
    await reader.readuntil(b'"status":"start"')

    writer.transport.abort()
    await reader.read()
    gate.open()

    assert (await asking)[-2].data["answer"] == "Here."


async def test_a_run_is_not_taken_along_by_one_who_read_it_to_the_end(
    serve: Serve, set_stage: SetStage, speech: Any
) -> None:
    stage = set_stage([speech.final("one"), speech.final("two")], on_disconnect="cancel")
    web = await serve(stage.agent)
    thread = await web.thread()

    answers = [(await web.ask(thread))[-2].data["answer"] for _ in range(2)]

    assert answers == ["one", "two"]


@pytest.mark.parametrize("speech", ["native"], indirect=True)
async def test_a_reader_who_stands_still_costs_no_memory_and_misses_nothing(
    serve: Serve, set_stage: SetStage, speech: Any, tmp_path: Path
) -> None:
    gate = Gate()
    answer = Deltas([{"content": f"{number:04}{'x' * 1000}\n"} for number in range(3000)])
    script = [Held(gate, speech.calls(("nothing", {}))), speech.final("draft"), answer]
    stage = set_stage(script, [], database=f"sqlite:///{tmp_path}/t.sqlite")
    web = await serve(stage.agent)
    thread = await web.thread()
    run = await web.runs.start(thread.removeprefix("/api/threads/"), "Go")
    async with web.client.stream("GET", f"{thread}/events") as slow:
        gate.open()
        await asyncio.wait_for(run.ended.wait(), 60)
        in_memory = run.log.in_memory
        late = web.read((await slow.aread()).decode())

    check_events([event.wire for event in late])
    assert [event.id for event in late] == [*range(run.log.first_id, run.log.next_id)]
    assert len(late) > 3000
    assert in_memory == KEPT + 2
