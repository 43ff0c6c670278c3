"""Messages at random moments of many runs: each is answered in its run, once, or refused."""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from graph_agent import NotRunningError, ReActAgent
from graph_agent.events import WireEvent
from graph_agent.interrupts import InterruptQueue
from graph_agent.prompts import SYNTHESIS_SYSTEM
from graph_agent.state import marked
from graph_agent.testing import Deltas, ScriptedChatModel, check_events
from graph_agent.testing.replies import Delay

pytestmark = pytest.mark.anyio
logger = logging.getLogger(__name__)

SetStage = Callable[..., Any]

MESSAGES = 10
"""Of one run."""
ITERATIONS = 3
LONGEST_RUN = 0.3
"""Seconds; about what a run takes that nobody interrupts."""


def at_any_time(event: WireEvent) -> bool:
    return event["data"].get("type") == "thinking" and event["data"]["iteration"] == 1


def as_the_answer_streams(event: WireEvent) -> bool:
    return event["event"] == "answer" and event["data"]["status"] == "delta"


def as_the_run_ends(event: WireEvent) -> bool:
    return event["event"] == "answer" and event["data"]["status"] == "done"


def in_the_last_iteration(event: WireEvent) -> bool:
    return event["data"].get("type") == "thinking" and event["data"]["iteration"] >= ITERATIONS


MOMENTS: dict[Callable[[WireEvent], bool], float] = {
    at_any_time: LONGEST_RUN,
    as_the_answer_streams: 0.02,
    as_the_run_ends: 0.05,
    in_the_last_iteration: 0.02,
}
"""When a message is sent: at most so many seconds after such an event."""


@dataclass(frozen=True)
class Script:
    """A model that makes a few calls in most runs, and never ends in others."""

    speech: Any

    async def __call__(self, body: dict[str, Any]) -> Any:
        text = orjson.dumps(body["messages"]).decode()
        if body["messages"][0]["content"] == SYNTHESIS_SYSTEM:
            return Deltas([{"content": f"piece {n} "} for n in range(5)], interval=0.005)
        seen = text.count("seen ")
        if "at once" in text or ("endless" not in text and seen >= ITERATIONS):
            return Delay(0.005, self.speech.final(f"draft after {seen}"))
        return Delay(0.005, self.speech.calls(("look", {"number": seen})))


async def look(number: int) -> str:
    """Look.

    Args:
        number: Where.
    """
    await asyncio.sleep(0.005)
    return f"seen {number}"


@dataclass
class Tally:
    """How many messages were accepted and refused, by their moment."""

    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


class Storm:
    """One run, and the messages that are sent to it."""

    def __init__(self, agent: ReActAgent, thread_id: str, tally: Tally, seed: int) -> None:
        self._agent, self._thread_id, self._tally = agent, thread_id, tally
        self._random = random.Random(seed)
        self._waiting = [
            (moment, f"word-{thread_id}-{number}.")
            for number, moment in enumerate(self._random.choices(list(MOMENTS), k=MESSAGES))
        ]
        self.accepted: list[str] = []

    async def run(self, question: str) -> list[WireEvent]:
        """Run to the end and return its events; all messages were sent by then."""
        events: list[WireEvent] = []
        async with asyncio.TaskGroup() as sending:
            async for event in self._agent.stream(question, thread_id=self._thread_id):
                events.append(event)
                due = [each for each in self._waiting if each[0](event)][:2]
                for moment, words in due:
                    self._waiting.remove((moment, words))
                    delay = self._random.uniform(0, MOMENTS[moment])
                    sending.create_task(self._send(moment.__name__, words, delay))
        for moment, words in self._waiting:
            await self._send(f"{moment.__name__}, which never came", words, 0)
        return events

    async def _send(self, moment: str, words: str, delay: float) -> None:
        await asyncio.sleep(delay)
        try:
            await self._agent.interrupt(self._thread_id, words)
        except NotRunningError:
            self._tally.refused[moment] += 1
        else:
            self._tally.accepted[moment] += 1
            self.accepted.append(words)


@pytest.mark.parametrize("database", ["memory", "sqlite"])
@pytest.mark.parametrize("runs", [6, pytest.param(32, marks=pytest.mark.slow)])
async def test_each_message_is_answered_in_its_run_or_refused(
    set_stage: SetStage, speech: Any, database: str, runs: int, tmp_path: Path
) -> None:
    """B95."""
    tally = Tally()
    url = "memory:" if database == "memory" else f"sqlite:///{tmp_path}/t.sqlite"
    stage = set_stage(Script(speech), [look], database=url, max_iterations=ITERATIONS)
    store = await stage.agent.store()
    for number in range(runs):
        storm = Storm(stage.agent, f"thread-{number}", tally, seed=number)
        before = len(stage.endpoint.requests)

        events = await storm.run(("Go.", "Go, endless.", "Go, at once.")[number % 3])

        check_events(events)
        assert events[-2]["event"] == "done"
        asked = [orjson.dumps(r.body).decode() for r in stage.endpoint.requests[before:]]
        messages = (await stage.agent.snapshot(f"thread-{number}")).values["messages"]
        said = [message.text for message in messages if isinstance(message, HumanMessage)]
        found = {words: sum(words in text for text in said) for words in storm.accepted}
        assert found == dict.fromkeys(storm.accepted, 1)
        assert [w for w in storm.accepted if not any(w in text for text in asked)] == []
        added = [m.additional_kwargs["ids"] for m in messages if marked(m) == "interrupt"]
        assert sum(map(len, added)) == len(storm.accepted)
        assert await InterruptQueue(store, f"thread-{number}").pending() == []
    logger.info("%s, %s: %s", speech.mode, database, tally)
    assert tally.accepted.total() > tally.refused.total()
    assert tally.accepted.total() + tally.refused.total() == runs * MESSAGES
    assert stage.endpoint.rejected == []


class StuckSaver(InMemorySaver):
    """Saves what the last node wrote, but not the step that ends with it."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()
        self._stuck = False

    async def aput_writes(self, *args: Any, **named: Any) -> None:
        await super().aput_writes(*args, **named)
        _, writes, *_ = args
        self._stuck = any(channel == "answer" and value for channel, value in writes)

    async def aput(self, *args: Any, **named: Any) -> Any:
        if self._stuck and not self.reached.is_set():
            self.reached.set()
            await asyncio.Event().wait()
        return await super().aput(*args, **named)


async def test_a_message_that_came_while_the_last_step_was_saved_is_answered_on_resume() -> None:
    """R7.3: the process may be killed between the two, and then no node runs on resume."""
    saver, model = StuckSaver(), ScriptedChatModel(replies=["Answer.", "Heeded."])
    async with ReActAgent(model, checkpointer=saver, store=InMemoryStore()) as agent:
        run = asyncio.create_task(agent.run("Go", thread_id="t"))
        await saver.reached.wait()
        await agent.interrupt("t", "Heed this.")
        run.cancel()
        await asyncio.wait([run])

        result = await agent.resume("t")

    assert result.answer == "Heeded."
    assert "Heed this." in model.asked[-1].messages[-1].text
