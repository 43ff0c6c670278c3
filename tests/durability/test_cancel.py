"""A run may be cancelled at any moment: its tools stop, and the next question is answered."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import orjson
import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import SearchItem
from langgraph.store.memory import InMemoryStore

from graph_agent.events import WireEvent
from graph_agent.prompts import CALL_CANCELLED, SELECT_TOOLS, SUMMARIZE, SYNTHESIS_SYSTEM
from graph_agent.runs.runs import Runs
from graph_agent.testing import Deltas, Gate, Held, check_events
from graph_agent.testing.replies import Delay

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]

SEEDS = 25
"""Runs that are cancelled at random moments, in each mode and way."""
LONGEST_RUN = 0.25
"""Seconds; about what a run takes that nobody cancels."""
WINDOW: dict[str, Any] = {
    "context_size": 4_400,
    "max_output_tokens": 400,
    "compaction": "summarize",
}
LONG = "Whoever misses the morning train has to wait for an hour on platform four. " * 60


class Place:
    """Where a run is held until it is cancelled."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.cancelled = 0
        """Tools that were stopped."""
        self.holds = True

    async def wait(self, number: int) -> str:
        """Wait, but for the first, which is quick.

        Args:
            number: Which one.
        """
        if number == 0 or not self.holds:
            return f"did {number}"
        try:
            await self.gate.hold()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "late"

    def read(self, number: int) -> str:
        """Read.

        Args:
            number: A page.
        """
        return f"leaf {number} {LONG}"


class HeldStore(InMemoryStore):
    """A store that holds whoever looks for messages the second time, as `drain_interrupts` does."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self._gate, self._looks = gate, 0

    async def asearch(self, namespace_prefix: tuple[str, ...], /, **q: Any) -> list[SearchItem]:
        self._looks += namespace_prefix[0] == "interrupts"
        if self._looks == 2:
            await self._gate.hold()
        return await super().asearch(namespace_prefix, **q)


class Script:
    """A model that does some work for the first question, and answers the second at once."""

    def __init__(self, speech: Any, name: str, held: str, place: Place) -> None:
        self._speech, self._name, self._held, self._place = speech, name, held, place

    def __call__(self, body: dict[str, Any]) -> Any:
        system, text = body["messages"][0]["content"], orjson.dumps(body["messages"]).decode()
        if "Second question" in text:
            return self._of_second(system)
        if system.startswith(SELECT_TOOLS.split(":")[0]):
            return self._maybe_held("select_tools", "All of them.")
        if system in SUMMARIZE.values():
            return self._maybe_held("guard_context", "Pages were read.")
        if system == SYNTHESIS_SYSTEM:
            return self._streamed()
        done = text.count("did ") + text.count("leaf ")
        if self._name == "read":
            return self._speech.calls(("read", {"number": done}))
        if done:
            return self._maybe_held("think", self._speech.final("draft"))
        return self._speech.calls(*(("wait", {"number": number}) for number in range(3)))

    def _of_second(self, system: str) -> Any:
        return "Second answer" if _is_inner(system) else self._speech.final("Second answer")

    def _maybe_held(self, where: str, reply: Any) -> Any:
        return Held(self._place.gate, reply) if where == self._held else reply

    def _streamed(self) -> Any:
        held = [self._place.gate] if self._held == "synthesize" else []
        return Deltas([{"content": "First "}, *held, {"content": "answer"}])


def _is_inner(system: str) -> bool:
    return system in (*SUMMARIZE.values(), SYNTHESIS_SYSTEM) or system.startswith("Choose")


PLACES = {
    "select_tools": ({"tool_selection_threshold": 1}, "phase"),
    "guard_context": (WINDOW, None),
    "think": ({}, "thinking 2"),
    "act": ({}, "call done"),
    "drain_interrupts": ({}, None),
    "synthesize": ({}, "answer delta"),
}
"""What makes a run get there, and an event that is told while it is there."""


def scene(set_stage: SetStage, speech: Any, held: str) -> tuple[Any, Place]:
    """Set the stage for a run that will be held somewhere."""
    place = Place()
    place.holds = held == "act"
    name = "read" if held == "guard_context" else "wait"
    settings: dict[str, Any] = dict(PLACES[held][0])
    script = Script(speech, name, held, place)
    stage = set_stage(script, [place.wait, place.read], **settings)
    if held == "drain_interrupts":
        deps = stage.agent._deps
        stage.agent = type(stage.agent)(
            deps.model,
            [place.wait, place.read],
            models=stage.agent.models,
            checkpointer=InMemorySaver(),
            store=HeldStore(place.gate),
            **stage.agent.settings.model_dump(exclude={"database"}),
        )
    return stage, place


async def expect_a_second_answer(stage: Any, place: Place) -> None:
    """Expect that the thread is well-formed, and goes on."""
    place.gate.open()
    place.holds = False
    assert await stage.answer("Second question") == "Second answer"
    messages = (await stage.agent.snapshot("thread")).values["messages"]
    assert _open(messages) == []
    assert stage.endpoint.rejected == []


def _open(messages: list[BaseMessage]) -> list[str | None]:
    """List the calls whose result does not follow them at once, or follows twice."""
    found: list[str | None] = []
    for at, message in enumerate(messages):
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        results = messages[at + 1 : at + 1 + len(calls)]
        given = [m.tool_call_id for m in results if isinstance(m, ToolMessage)]
        found += [call["id"] for call in calls if given.count(call["id"] or "") != 1]
    return found


@pytest.mark.parametrize("held", PLACES)
async def test_a_run_whose_task_is_cancelled(set_stage: SetStage, speech: Any, held: str) -> None:
    """B37, B78."""
    stage, place = scene(set_stage, speech, held)
    await stage.agent.store()
    before = asyncio.all_tasks()
    run = asyncio.create_task(stage.agent.run("First question", thread_id="thread"))
    await place.gate.reached()

    run.cancel()
    await asyncio.wait([run])

    assert run.cancelled()
    assert asyncio.all_tasks() - before == set()
    assert place.cancelled == (2 if held == "act" else 0)
    await expect_a_second_answer(stage, place)


@pytest.mark.parametrize("held", [name for name, (_, told) in PLACES.items() if told])
async def test_a_stream_that_is_closed(set_stage: SetStage, speech: Any, held: str) -> None:
    """B37, B78."""
    stage, place = scene(set_stage, speech, held)
    await stage.agent.store()
    before = asyncio.all_tasks()
    async with aclosing(stage.agent.stream("First question", thread_id="thread")) as events:
        async for event in events:
            if _kind(event) == PLACES[held][1]:
                break
        await place.gate.reached()

    assert asyncio.all_tasks() - before == set()
    assert place.cancelled == (2 if held == "act" else 0)
    await expect_a_second_answer(stage, place)


def _kind(event: WireEvent) -> str:
    data = event["data"]
    match event["event"], data.get("type"), data.get("status"):
        case "step", "thinking", "start":
            return f"thinking {data['iteration']}"
        case "step", "iteration", status:
            return f"call {status}"
        case "answer", _, status:
            return f"answer {status}"
    return event["event"]


@pytest.mark.parametrize("held", PLACES)
async def test_a_run_of_the_server_that_is_cancelled(
    set_stage: SetStage, speech: Any, held: str
) -> None:
    stage, place = scene(set_stage, speech, held)
    runs = Runs(stage.agent)
    run = await runs.start("thread", "First question")
    await place.gate.reached()

    assert await runs.cancel("thread")

    events = [numbered.event async for numbered in run.log.follow()]
    check_events(events)
    assert [event["data"].get("code") for event in events[-2:]] == ["cancelled", None]
    assert place.cancelled == (2 if held == "act" else 0)
    await expect_a_second_answer(stage, place)
    await runs.aclose()


async def test_of_a_batch_that_is_cancelled_the_model_learns_what_finished(
    set_stage: SetStage, speech: Any
) -> None:
    """B90: what was done must not be told to be undone."""
    stage, place = scene(set_stage, speech, "act")
    async with aclosing(stage.agent.stream("First question", thread_id="thread")) as events:
        async for event in events:
            if _kind(event) == "call done":
                break
        await place.gate.reached()

    await expect_a_second_answer(stage, place)
    messages = (await stage.agent.snapshot("thread")).values["messages"]
    results = [message.text for message in messages if isinstance(message, ToolMessage)]
    assert results == ["did 0", CALL_CANCELLED, CALL_CANCELLED]
    asked = orjson.dumps(stage.endpoint.requests[-1].body).decode()
    assert (asked.count("did 0"), asked.count(CALL_CANCELLED)) == (1, 2)


async def test_a_message_that_waited_behind_open_calls_is_not_lost_by_a_cancel(
    set_stage: SetStage, speech: Any
) -> None:
    """In JSON mode it is in the thread's state by then, and not in the queue any more."""
    stage, place = scene(set_stage, speech, "act")
    async with aclosing(stage.agent.stream("First question", thread_id="thread")) as events:
        async for event in events:
            if _kind(event) == "thinking 1":
                await stage.agent.interrupt("thread", "Heed this.")
            if _kind(event) == "call done":
                break
        await place.gate.reached()

    await expect_a_second_answer(stage, place)
    asked = orjson.dumps(stage.endpoint.requests[-1].body).decode()
    assert asked.count("Heed this.") == 1


async def stop_after(stage: Any, way: str, seconds: float, thread_id: str) -> None:
    """Run for some time, then stop it in one of the two ways."""
    if way == "cancel":
        run = asyncio.create_task(stage.agent.run("First question", thread_id=thread_id))
        await asyncio.wait([run], timeout=seconds)
        run.cancel()
        await asyncio.wait([run])
        return
    events: AsyncGenerator[WireEvent] = stage.agent.stream("First question", thread_id=thread_id)
    async with aclosing(events):
        for _ in range(int(seconds / LONGEST_RUN * 20)):
            if await anext(events, None) is None:
                break


@pytest.mark.parametrize("way", ["cancel", "close"])
async def test_runs_that_are_cancelled_at_random_moments(
    set_stage: SetStage, speech: Any, way: str, tmp_path: Path
) -> None:
    """B37."""
    beating: set[int] = set()

    async def beat(number: int) -> str:
        """Beat.

        Args:
            number: Which one.
        """
        beating.add(number)
        try:
            for _ in range(number % 3):
                await asyncio.sleep(0.01)
        finally:
            beating.discard(number)
        return f"did {number}"

    def reply(body: dict[str, Any]) -> Any:
        system, text = body["messages"][0]["content"], orjson.dumps(body["messages"]).decode()
        if system == SYNTHESIS_SYSTEM:
            return Deltas([{"content": f"piece {n} "} for n in range(4)], interval=0.005)
        if "Second question" in text:
            return speech.final("Second answer")
        done = text.count("did ")
        calls = [("beat", {"number": done + number}) for number in range(3)]
        return Delay(0.005, speech.final("draft") if done > 6 else speech.calls(*calls))

    stage = set_stage(reply, [beat], database=f"sqlite:///{tmp_path}/t.sqlite")
    for seed, seconds in enumerate(moments()):
        thread_id = f"thread {seed}"

        await stop_after(stage, way, seconds, thread_id)

        assert beating == set(), seed
        answer = await stage.answer("Second question", thread_id=thread_id)
        assert answer in ("Second answer", "piece 0 piece 1 piece 2 piece 3 "), seed
        messages = (await stage.agent.snapshot(thread_id)).values["messages"]
        assert _open(messages) == [], seed
    assert stage.endpoint.rejected == []


def moments() -> Iterator[float]:
    """Seconds after which a run is cancelled."""
    moment = random.Random(7)
    return (moment.uniform(0, LONGEST_RUN) for _ in range(SEEDS))
