"""Processes to be killed, and databases that outlive them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pytest

WORKER = Path(__file__).with_name("worker.py")
PATIENCE = 30.0
"""Seconds that a test waits for a process."""


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database that outlives a process, of each kind in turn."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{tmp_path}/t.sqlite"


class Worker:
    """A process that runs threads on command."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._pid, self._reader, self._writer = pid, reader, writer

    async def set_up(self, base_url: str, file: Path, **settings: Any) -> None:
        """Make its agent and open the database."""
        await self.send(base_url=base_url, file=str(file), settings=settings)
        assert await self.reply() == "ready"

    async def send(self, **command: Any) -> None:
        """Give a command."""
        self._writer.write(json.dumps(command).encode() + b"\n")
        await self._writer.drain()

    async def reply(self) -> Any:
        """Wait for what the next command to end came to."""
        async with asyncio.timeout(PATIENCE):
            line = await self._reader.readline()
        assert line, "the worker broke off"
        return json.loads(line)

    async def kill(self) -> None:
        """Kill it, with no chance to do anything more."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        await self._closed()

    async def end(self) -> None:
        """Let it end by itself."""
        self._writer.write_eof()
        await self._closed()

    async def _closed(self) -> None:
        """Wait until nobody holds the other end any more."""
        with suppress(ConnectionError):
            await self._reader.read()
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


@pytest.fixture(scope="session")
def nursery() -> Iterator[IO[str]]:
    """A process that forks a worker for each address that is written to it."""
    command = [sys.executable, "-W", "error", str(WORKER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        yield process.stdin
        process.stdin.close()
        process.wait(PATIENCE)


@pytest.fixture
async def start_worker(nursery: IO[str]) -> AsyncIterator[Callable[[], Awaitable[Worker]]]:
    """Start processes; those that still live at the end are killed."""
    started: list[Worker] = []
    arrived: asyncio.Queue[Worker] = asyncio.Queue()

    async def arrive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        worker = Worker(int(await reader.readline()), reader, writer)
        started.append(worker)
        arrived.put_nowait(worker)

    with tempfile.TemporaryDirectory() as folder:
        address = f"{folder}/socket"

        async def start() -> Worker:
            nursery.write(f"{address}\n")
            nursery.flush()
            async with asyncio.timeout(PATIENCE):
                return await arrived.get()

        async with await asyncio.start_unix_server(arrive, address):
            yield start
            for worker in started:
                await worker.kill()
