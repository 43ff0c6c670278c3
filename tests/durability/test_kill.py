"""Processes that are killed at random moments lose nothing, and do nothing twice."""

import asyncio
import logging
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from graph_agent import NotRunningError, ReActAgent
from graph_agent.backends import Backend, open_backend
from graph_agent.interrupts import InterruptQueue
from graph_agent.prompts import SYNTHESIS_SYSTEM
from graph_agent.state import marked
from graph_agent.testing import Deltas, ScriptedChatModel, StrictEndpoint
from graph_agent.testing.replies import Delay
from graph_agent.threads.listing import config_for

pytestmark = pytest.mark.anyio
logger = logging.getLogger(__name__)

SHORT, LONG = 4, int(os.environ.get("KILL_ROUNDS", "200"))
"""Kills of one test."""
THREADS = 4
"""Of one process."""
CALLS = (3, 1, 2, 3)
"""Of each reply of a run: several are tasks of their own, a single one is not."""
LONGEST_LIFE = 0.9
"""Seconds after which a process is killed, at most; about what the runs take undisturbed."""
MOST_KILLS = 8
"""Of the processes that work on the same threads."""
SETUPS = [
    {"use_native_tools": native, "durability": durability}
    for native in (True, False)
    for durability in ("async", "sync")
]


def keys_of(thread: str) -> list[str]:
    """Name the calls of a thread: thread, iteration, number in the reply."""
    return [f"{thread}.{at}.{number}" for at, calls in enumerate(CALLS) for number in range(calls)]


@dataclass(frozen=True)
class Script:
    """Answers a run by what it has done so far, so that a resumed one gets the right reply."""

    native: bool

    def __call__(self, body: dict[str, Any]) -> Any:
        text = orjson.dumps(body["messages"]).decode()
        thread = re.findall(r"thread-\d+-\d+", text)[0]
        if body["messages"][0]["content"] == SYNTHESIS_SYSTEM:
            return Deltas([{"content": "The answer "}, {"content": f"of {thread}."}], interval=0.01)
        done = [int(number) for number in re.findall(rf"{thread}\.(\d+)\.", text)]
        return Delay(0.01, self._move(thread, max(done, default=-1) + 1))

    def _move(self, thread: str, iteration: int) -> Any:
        keys = [key for key in keys_of(thread) if key.startswith(f"{thread}.{iteration}.")]
        if self.native and keys:
            calls = [{"id": key, "name": "work", "arguments": {"key": key}} for key in keys]
            return {"content": "", "tool_calls": calls}
        if self.native:
            return f"draft of {thread}"
        if keys:
            actions = [{"type": "tool_call", "tool": "work", "args": {"key": key}} for key in keys]
            return "\n".join(orjson.dumps(action).decode() for action in actions)
        return orjson.dumps({"type": "final_answer", "answer": f"draft of {thread}"}).decode()


@dataclass
class Found:
    """What the database and the file held when nobody worked."""

    messages: dict[str, list[BaseMessage]] = field(default_factory=dict)
    committed: set[str] = field(default_factory=set)
    """Calls whose result is saved."""
    runs: Counter[str] = field(default_factory=Counter)
    """How often each call was run."""


@dataclass
class Tally:
    """What happened in all."""

    kills: int = 0
    accepted: int = 0
    refused: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    """By durability."""
    repeated: Counter[str] = field(default_factory=Counter)
    """Runs of calls whose result the kill before had kept from being saved."""


class Batch:
    """Threads that are worked on by one process after the other."""

    def __init__(
        self, number: int, url: str, file: Path, opened: Backend, tally: Tally, seed: int
    ) -> None:
        self.threads = [f"thread-{number}-{each}" for each in range(THREADS)]
        self.accepted: dict[str, list[str]] = defaultdict(list)
        self._setup: dict[str, Any] = {"database": url, **SETUPS[number % len(SETUPS)]}
        self._file, self._backend, self._tally = file, opened, tally
        self._random = random.Random(seed)
        model = ScriptedChatModel(replies=[])
        self._reader = ReActAgent(model, checkpointer=opened.checkpointer, store=opened.store)

    async def finish(self, start_worker: Callable[..., Any]) -> None:
        """Kill one process after the other until one of them is done."""
        found, kills = Found(), 0
        with StrictEndpoint(Script(self._setup["use_native_tools"])) as endpoint:
            done = False
            while not done:
                worker = await start_worker()
                await worker.set_up(endpoint.base_url, self._file, **self._setup)
                done = await self._work(worker, kills < MOST_KILLS)
                kills += not done
                found = self._compared(found, await self._found())
            self._tally.kills += kills
            await self._expect_answers(found, [request.body for request in endpoint.requests])
            assert endpoint.rejected == []
        await self._reader.aclose()

    async def _work(self, worker: Any, may_kill: bool) -> bool:
        """Let a process work while people add to its runs; False where it was killed."""
        await worker.send(finish={thread: f"Do {thread}." for thread in self.threads})
        async with self._adding():
            try:
                life = self._random.uniform(0, LONGEST_LIFE) if may_kill else 30
                async with asyncio.timeout(life):
                    await worker.reply()
            except TimeoutError:
                assert may_kill, "the threads are never done"
                await worker.kill()
                return False
        await worker.send(turns={thread: ["And now?"] for thread in self.threads})
        assert await worker.reply() == [[f"draft of {thread}"] for thread in self.threads]
        await worker.end()
        return True

    @asynccontextmanager
    async def _adding(self) -> AsyncIterator[None]:
        """Add messages to the runs at random moments."""
        over = asyncio.Event()

        async def add() -> None:
            for number in count():
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._random.uniform(0, 0.15)):
                        await over.wait()
                        return
                thread = self._random.choice(self.threads)
                await self._add(thread, f"word-{number}-{self._random.getrandbits(64):x}.")

        async with asyncio.TaskGroup() as adding:
            adding.create_task(add())
            yield
            over.set()

    async def _add(self, thread: str, words: str) -> None:
        try:
            await self._backend.add_to_run(thread, words)
        except NotRunningError:
            self._tally.refused += 1
        else:
            self._tally.accepted += 1
            self.accepted[thread].append(words)

    async def _found(self) -> Found:
        found = Found()
        for thread in self.threads:
            saved = await self._backend.checkpointer.aget_tuple(config_for(thread))
            if saved is None:
                continue
            messages = (await self._reader.snapshot(thread)).values["messages"]
            found.messages[thread] = messages
            written = [value for _, _, value in saved.pending_writes or []]
            pending = [
                m for value in written for m in (value if isinstance(value, list) else [value])
            ]
            results = [m for m in [*messages, *pending] if isinstance(m, ToolMessage)]
            found.committed |= {result.text.removeprefix("did ") for result in results}
        lines = await asyncio.to_thread(_lines, self._file)
        found.runs = Counter(line for line in lines if line.partition(".")[0] in self.threads)
        return found

    def _compared(self, before: Found, after: Found) -> Found:
        """Expect that nothing that was saved is gone, or was done again."""
        for thread, messages in before.messages.items():
            assert _same(messages) == _same(after.messages[thread][: len(messages)])
        again = [key for key in before.runs if after.runs[key] != before.runs[key]]
        assert before.committed.isdisjoint(again), "calls whose result was saved ran again"
        replies = Counter(key.rsplit(".", 2)[0] for key in {key.rsplit(".", 1)[0] for key in again})
        assert set(replies.values()) <= {1}, "calls of more than one reply ran again"
        return after

    async def _expect_answers(self, found: Found, asked: Sequence[Any]) -> None:
        """Expect that each thread has its answer, and each added message its own, once."""
        texts = [orjson.dumps(body).decode() for body in asked]
        for thread in self.threads:
            *messages, question, answer = found.messages[thread]
            assert (question.text, answer.text) == ("And now?", f"draft of {thread}")
            said = [message.text for message in messages if isinstance(message, HumanMessage)]
            assert (marked(messages[-1]), messages[-1].text) == (
                "answer",
                f"The answer of {thread}.",
            )
            for words in self.accepted[thread]:
                assert sum(words in text for text in said) == 1, (thread, words)
                assert any(words in text for text in texts), (thread, words)
            added = [m for m in messages if marked(m) == "interrupt"]
            assert sum(len(m.additional_kwargs["ids"]) for m in added) == len(self.accepted[thread])
            assert await InterruptQueue(self._backend.store, thread).pending() == []
        keys = {key for thread in self.threads for key in keys_of(thread)}
        assert set(found.runs) == keys
        self._tally.calls[self._setup["durability"]] += len(keys)
        self._tally.repeated[self._setup["durability"]] += found.runs.total() - len(keys)


def _same(messages: Sequence[BaseMessage]) -> list[tuple[str | None, str, str]]:
    """What must not change; a draft gives way to the answer, which keeps its id."""
    return [(m.id, m.type, "" if _is_draft(m) else m.text) for m in messages]


def _is_draft(message: BaseMessage) -> bool:
    return marked(message) == "answer" or message.text.startswith("draft of")


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize("rounds", [SHORT, pytest.param(LONG, marks=pytest.mark.kill)])
async def test_nothing_is_lost_or_done_twice_where_processes_are_killed(
    start_worker: Callable[..., Any], database: str, tmp_path: Path, rounds: int
) -> None:
    """B90."""
    tally = Tally()
    async with AsyncExitStack() as opened:
        backend = await open_backend(database)
        opened.push_async_callback(backend.close)
        for number in count():
            batch = Batch(number, database, tmp_path / "lines", backend, tally, seed=number)
            await batch.finish(start_worker)
            if tally.kills >= rounds:
                break

    logger.info("%s: %s", database.partition(":")[0], tally)


async def test_of_a_batch_that_is_broken_off_what_is_done_is_not_done_again(
    start_worker: Callable[..., Any], database: str, tmp_path: Path, speech: Any
) -> None:
    """B90."""
    calls = speech.calls(("work", {"key": "mail 1"}), ("stay", {}), ("work", {"key": "mail 2"}))
    native, file = speech.mode == "native", tmp_path / "lines"
    setup: dict[str, Any] = {"database": database, "use_native_tools": native}
    async with AsyncExitStack() as opened:
        endpoint = opened.enter_context(StrictEndpoint([calls, speech.final("draft"), "Sent."]))
        backend = await open_backend(database)
        opened.push_async_callback(backend.close)
        worker = await start_worker()
        await worker.set_up(endpoint.base_url, file, **setup)
        await worker.send(finish={"t": "Send two."})
        async with asyncio.timeout(10):
            done = {"did mail 1", "did mail 2"}
            while await _pending(backend, "t") != done:  # noqa: ASYNC110 -- of another process
                await asyncio.sleep(0.01)

        await worker.kill()
        worker = await start_worker()
        await worker.set_up(endpoint.base_url, file, **setup)
        await worker.send(finish={"t": "Send two."})

        assert await worker.reply() == ["Sent."]
        assert endpoint.rejected == []
    assert sorted(_lines(file)) == ["mail 1", "mail 2", "stay", "stay"]


async def _pending(backend: Backend, thread_id: str) -> set[str]:
    """List the results that are saved, of a batch that is not done."""
    saved = await backend.checkpointer.aget_tuple(config_for(thread_id))
    written = (saved.pending_writes if saved else None) or []
    return {value.text for _, _, value in written if isinstance(value, ToolMessage)}
