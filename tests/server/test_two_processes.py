"""Two servers on one database, each a process: one runs, the other follows, cancels, goes on."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from graph_agent import ReActAgent
from graph_agent.testing import Gate, Held, ScriptedChatModel, StrictEndpoint, check_events
from graph_agent.testing.replies import Deltas, Reply

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True),
]

Serve = Callable[..., Awaitable[Any]]
PREFIXES = ("GRAPH_AGENT_", "OPENAI_")


class Elsewhere:
    """A server in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, client: httpx.AsyncClient) -> None:
        self.process = process
        self.client = client

    async def end(self, number: signal.Signals) -> None:
        """Send a signal, and wait until the process has ended."""
        self.process.send_signal(number)
        await self.process.wait()


@asynccontextmanager
async def elsewhere(database: str, folder: Path, script: list[Reply]) -> AsyncIterator[Elsewhere]:
    """Start a server whose model replies from a script."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(PREFIXES)}
    with StrictEndpoint(script) as endpoint:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "graph_agent", "serve", "--port", "0", "--model", "m"),
            cwd=folder,
            env=kept
            | {"GRAPH_AGENT_DATABASE": database, "GRAPH_AGENT_MAX_RETRIES": "0"}
            | {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "key"},
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().split()[4]
        async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client:
            yield Elsewhere(process, client)
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture
async def here(database: str, serve: Serve) -> Any:
    """A server in this process, whose model replies twice."""
    model = ScriptedChatModel(replies=["Back.", "And again."])
    return await serve(ReActAgent(model, database=database))


def checked(events: list[Any], *, resumed: bool = False) -> list[Any]:
    """Check the order of events and of their numbers."""
    check_events([event.wire for event in events], resumed=resumed)
    ids = [event.id for event in events]
    assert ids == sorted(set(ids))
    return events


async def test_one_follows_and_cancels_what_the_other_runs(
    here: Any, database: str, tmp_path: Path
) -> None:
    gate = Gate()
    async with elsewhere(database, tmp_path, [Held(gate, "never")]) as there:
        thread = await here.thread()
        running = asyncio.ensure_future(there.client.post(f"{thread}/runs", json={"message": "Hi"}))
        await gate.reached(30)
        following = asyncio.ensure_future(here.follow(thread))
        busy = await here.client.post(f"{thread}/runs", json={"message": "Me too"})
        during = (await here.client.get(thread)).json()["running"]
        cancelled = (await here.client.post(f"{thread}/cancel")).json()
        after = (await here.client.get(thread)).json()["running"]
        events, told = checked(await following), here.read((await running).text)
        again = await here.ask(thread, "Still there?")
        theirs = here.read((await there.client.get(f"{thread}/events")).text)
        gate.open()

    assert (busy.status_code, busy.json()["code"]) == (409, "busy")
    assert (during, cancelled, after) == (True, {"cancelled": True}, False)
    assert events == told
    assert events[-2].data["code"] == "cancelled"
    assert again[-2].data["answer"] == "Back."
    assert again[0].id > events[-1].id
    assert theirs == again


@pytest.mark.parametrize(
    ("script", "opened"),
    [
        pytest.param(lambda gate: [Held(gate, "never")], "thinking", id="the model thinks"),
        pytest.param(
            lambda gate: [
                {"tool_calls": [{"id": "1", "name": "current_time", "arguments": {}}]},
                "draft",
                Deltas([{"content": "Half an"}, gate, {"content": " answer."}]),
            ],
            "delta",
            id="the answer streams",
        ),
    ],
)
async def test_one_ends_and_resumes_what_the_other_died_of(
    here: Any,
    database: str,
    tmp_path: Path,
    script: Callable[[Gate], list[Reply]],
    opened: str,
) -> None:
    gate = Gate()
    async with elsewhere(database, tmp_path, script(gate)) as there:
        thread = await here.thread()
        running = asyncio.ensure_future(there.client.post(f"{thread}/runs", json={"message": "Hi"}))
        await gate.reached(30)
        async with here.client.stream("GET", f"{thread}/events") as response:
            pieces = response.aiter_text()
            text = await anext(pieces)
            while opened not in text:
                text += await anext(pieces)
            await there.end(signal.SIGKILL)
            events = checked(here.read("".join([text, *[piece async for piece in pieces]])))
        with pytest.raises(httpx.TransportError):
            await running
        gate.open()
        later = await here.follow(thread)
        resumed = await here.client.post(f"{thread}/resume", json={})
        finished = await here.client.post(f"{thread}/resume")

    assert [event.data for event in events[-2:]] == [
        {"code": "interrupted", "message": "The process that ran it died. Resume the thread."},
        {},
    ]
    assert later == events
    going_on = checked(here.read(resumed.text), resumed=True)
    assert going_on[-2].data["answer"] == "Back."
    assert going_on[0].id > events[-1].id
    assert (finished.status_code, finished.json()["code"]) == (400, "config")


async def test_one_tells_again_what_the_other_told_before_it_was_stopped(
    here: Any, database: str, tmp_path: Path
) -> None:
    async with elsewhere(database, tmp_path, ["Hello."]) as there:
        thread = await here.thread()
        told = here.read((await there.client.post(f"{thread}/runs", json={"message": "Hi"})).text)
        await there.end(signal.SIGINT)

    assert checked(await here.follow(thread)) == told
    assert await here.follow(thread, told[2].id) == told[3:]
    assert await here.follow(thread, told[-1].id) == []
