"""Makes processes that run threads on command, and may be killed at any moment.

This one only makes the imports, which take longest, and forks for each line on stdin: the address
of a socket. There the child is given one JSON object a line, first how to set its agent up, then
commands; it answers each by a line, in the order of their ends.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import langgraph.checkpoint.postgres.aio
import langgraph.store.postgres.aio  # noqa: F401 -- both are imported late, where they are used

from graph_agent import (
    ConfigError,
    ModelRegistry,
    NotRunningError,
    ReActAgent,
    Settings,
    ThreadBusyError,
    ThreadNotFoundError,
)
from graph_agent.backends import Backend, open_backend
from graph_agent.models.spec import ModelSpec

LONGEST_WORK = 0.05
"""Seconds a call of the tool takes at most."""
LONGEST_COMMAND = 10_000_000
"""Bytes."""
LONGEST_BUSY = 2.0
"""Seconds until the thread of a killed process is free, at most."""


def work_noted_in(file: Path) -> Any:
    """Make a tool whose every run leaves a line in a file, as its last act."""

    def work(key: str) -> str:
        """Work.

        Args:
            key: Names the call.
        """
        time.sleep(random.uniform(0, LONGEST_WORK))
        with file.open("a") as lines:
            lines.write(f"{key}\n")
        return f"did {key}"

    return work


def stay_noted_in(file: Path) -> Any:
    """Make a tool that never ends, but where it was run before."""

    async def stay() -> str:
        """Stay."""
        before = "stay\n" in await asyncio.to_thread(file.read_text)
        with file.open("a") as lines:
            lines.write("stay\n")
        if not before:
            await asyncio.Event().wait()
        return "stayed"

    return stay


async def finish(agent: ReActAgent, thread_id: str, question: str) -> str:
    """Bring a thread to its answer, from wherever an earlier process left it."""
    deadline = time.monotonic() + LONGEST_BUSY
    while True:
        try:
            return await _gone_on(agent, thread_id, question)
        except ThreadBusyError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(LONGEST_WORK)


async def _gone_on(agent: ReActAgent, thread_id: str, question: str) -> str:
    try:
        return (await agent.resume(thread_id)).answer
    except ThreadNotFoundError:
        return (await agent.run(question, thread_id=thread_id)).answer
    except ConfigError:
        answer: str = (await agent.snapshot(thread_id)).values["answer"]
        return answer


async def turns(agent: ReActAgent, thread_id: str, messages: list[str]) -> list[str]:
    """Ask one thing after the other."""
    return [(await agent.run(message, thread_id=thread_id)).answer for message in messages]


async def run_at(agent: ReActAgent, thread_id: str, message: str, at: float) -> str | None:
    """Ask at that time of the clock; None where the thread is busy."""
    await asyncio.sleep(at - time.time())
    try:
        return (await agent.run(message, thread_id=thread_id)).answer
    except ThreadBusyError:
        return None


async def accepted(backend: Backend, thread_id: str, times: int) -> int:
    """Add so many messages to a thread; return how many were accepted."""
    refused = 0
    for number in range(times):
        try:
            await backend.add_to_run(thread_id, f"message {number}")
        except NotRunningError:
            refused += 1
    return times - refused


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Backend]:
    backend = await open_backend(url)
    yield backend
    await backend.close()


async def carried_out(agent: ReActAgent, command: Mapping[str, Any]) -> Any:
    """Do what is told and return the outcome."""
    match command:
        case {"finish": threads}:
            return await asyncio.gather(*(finish(agent, *each) for each in threads.items()))
        case {"turns": threads}:
            return await asyncio.gather(*(turns(agent, *each) for each in threads.items()))
        case {"run": thread_id, "message": message, "at": at}:
            return await run_at(agent, thread_id, message, at)
        case {"add": thread_id, "times": times}:
            async with opened(agent.settings.database) as backend:
                return await accepted(backend, thread_id, times)
    raise ValueError(f"unknown command {command}")


async def serve(address: str) -> None:
    """Do what is told at a socket until it closes."""
    reader, writer = await asyncio.open_unix_connection(address, limit=LONGEST_COMMAND)

    def tell(outcome: object) -> None:
        writer.write(json.dumps(outcome).encode() + b"\n")

    async def obey(line: bytes) -> None:
        tell(await carried_out(agent, json.loads(line)))

    tell(os.getpid())
    given = json.loads(await reader.readline())
    spec = {"fake": ModelSpec(model="fake", base_url=given["base_url"])}
    models = ModelRegistry(spec, settings=Settings(), environ={})
    file = Path(given["file"])
    await asyncio.to_thread(file.touch)
    tools = [work_noted_in(file), stay_noted_in(file)]
    async with (
        ReActAgent("fake", tools, models=models, **given["settings"]) as agent,
        asyncio.TaskGroup() as obeying,
    ):
        await agent.store()
        tell("ready")
        while line := await reader.readline():
            obeying.create_task(obey(line))
    writer.close()
    await writer.wait_closed()


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asyncio.run(serve(line.strip()))
            return


if __name__ == "__main__":
    main()
