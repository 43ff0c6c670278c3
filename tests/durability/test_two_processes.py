"""Processes that share a database: one run on a thread at a time, and no write that fails."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from psycopg import AsyncConnection

from graph_agent import NotRunningError, ReActAgent
from graph_agent.backends import Backend, open_backend
from graph_agent.backends.leases import Leases
from graph_agent.testing import Gate, ScriptedChatModel, StrictEndpoint

pytestmark = pytest.mark.anyio
logger = logging.getLogger(__name__)

StartWorker = Callable[[], Awaitable[Any]]

SHORT, LONG = 20, int(os.environ.get("KILL_ROUNDS", "200"))
"""Races of one test."""
PER_THREAD = 5
"""Races for the same thread, one after the other."""
AHEAD = 0.03
"""Seconds from a command to the moment at which all processes act."""
PATIENCE = 10.0
"""Seconds until a race has a loser."""
PROBES = 300
"""Messages of each process that nobody can answer."""
LARGE = "x" * 20_000
FREE_AFTER = 2.0
"""Seconds until the thread of a killed process is free."""


@pytest.fixture
async def backend(database: str) -> AsyncIterator[Backend]:
    opened = await open_backend(database)
    yield opened
    await opened.close()


async def pair(start_worker: StartWorker, url: str, tmp_path: Path, database: str) -> list[Any]:
    """Start two processes on one database."""
    workers = [await start_worker() for _ in range(2)]
    for worker in workers:
        await worker.set_up(url, tmp_path / "lines", database=database)
    return workers


class Referee:
    """Holds the winner's model back until the loser has said that it lost."""

    def __init__(self) -> None:
        self.gate = Gate()

    async def __call__(self, body: dict[str, Any]) -> str:
        await self.gate.hold()
        return f"answer to {body['messages'][-1]['content']}"

    async def outcome(self, race: list[asyncio.Task[Any]]) -> list[Any]:
        """Let the winner go on once another has an outcome, and wait for all."""
        await asyncio.wait(race, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        self.gate.open()
        return list(await asyncio.gather(*race))


@pytest.mark.parametrize("races", [SHORT, pytest.param(LONG, marks=pytest.mark.kill)])
async def test_of_two_processes_that_start_a_run_at_once_one_wins(
    start_worker: StartWorker, database: str, backend: Backend, tmp_path: Path, races: int
) -> None:
    """B87."""
    referee, won = Referee(), [0, 0]
    reader = ReActAgent(
        ScriptedChatModel(replies=[]), checkpointer=backend.checkpointer, store=backend.store
    )
    with StrictEndpoint(referee) as endpoint:
        workers = await pair(start_worker, endpoint.base_url, tmp_path, database)
        expected: list[str] = []
        for number in range(races):
            thread = f"thread-{number // PER_THREAD}"
            expected = [] if number % PER_THREAD == 0 else expected
            referee.gate, at = Gate(), time.time() + AHEAD
            for name, worker in enumerate(workers):
                await worker.send(run=thread, message=f"{number} of {name}", at=at)
            answers = await referee.outcome([asyncio.create_task(w.reply()) for w in workers])

            (winner,) = [name for name, answer in enumerate(answers) if answer is not None]
            won[winner] += 1
            expected += [f"{number} of {winner}", f"answer to {number} of {winner}"]
            messages = (await reader.snapshot(thread)).values["messages"]
            assert [message.text for message in messages] == expected
        assert endpoint.rejected == []

    logger.info("%s: won by %s", database.partition(":")[0], won)
    assert min(won) > 0


async def test_a_process_that_is_killed_frees_its_thread(
    start_worker: StartWorker, database: str, backend: Backend, tmp_path: Path
) -> None:
    referee = Referee()
    with StrictEndpoint(referee) as endpoint:
        holder, other = await pair(start_worker, endpoint.base_url, tmp_path, database)
        await holder.send(run="t", message="first", at=0.0)
        await referee.gate.reached()
        await other.send(run="t", message="too early", at=0.0)
        assert await other.reply() is None

        await holder.kill()
        async with asyncio.timeout(FREE_AFTER):
            while await backend.leases.held("t"):  # noqa: ASYNC110 -- of another process
                await asyncio.sleep(AHEAD)
        referee.gate.open()
        await other.send(run="t", message="second", at=0.0)

        assert await other.reply() == "answer to first\n\nsecond"
        assert endpoint.rejected == []


async def test_two_that_ask_whether_a_thread_runs_do_not_take_each_other_for_a_run(
    start_worker: StartWorker, database: str, backend: Backend, tmp_path: Path
) -> None:
    """B95: else both are told that their message will be answered, and nobody answers."""
    rival = await start_worker()
    await rival.set_up("http://127.0.0.1:9/v1", tmp_path / "lines", database=database)
    await rival.send(add="t", times=PROBES)

    mine = [await accepts(backend) for _ in range(PROBES)]

    assert (mine.count(True), await rival.reply()) == (0, 0)


async def accepts(backend: Backend) -> bool:
    try:
        await backend.add_to_run("t", "anybody there?")
    except NotRunningError:
        return False
    return True


async def test_processes_and_threads_that_write_to_one_database_at_once_lose_nothing(
    start_worker: StartWorker, database: str, backend: Backend, tmp_path: Path
) -> None:
    """B88."""
    processes, threads, turns = 3, 8, 4
    with StrictEndpoint(lambda body: "ok", keep=0) as endpoint:
        workers = [await start_worker() for _ in range(processes)]
        for name, worker in enumerate(workers):
            await worker.set_up(endpoint.base_url, tmp_path / "lines", database=database)
            messages = [f"{number} {LARGE}" for number in range(turns)]
            await worker.send(turns={f"{name}-{thread}": messages for thread in range(threads)})
        answers = [await worker.reply() for worker in workers]

    assert answers == [[["ok"] * turns] * threads] * processes


@pytest.fixture
async def holders(postgres_url: str) -> AsyncIterator[list[Leases]]:
    """The leases of two processes, before whom the server closes all connections."""
    opened = [await open_backend(postgres_url) for _ in range(2)]
    await close_all_connections(postgres_url)
    yield [backend.leases for backend in opened]
    for backend in opened:
        await backend.close()


async def test_runs_hold_their_threads_after_the_server_closed_a_connection(
    holders: list[Leases],
) -> None:
    """An idle connection may be closed at any time; the next runs come all at once."""
    mine, theirs = holders

    async with AsyncExitStack() as held:
        taking = (held.enter_async_context(mine.hold(f"{n}")) for n in range(8))
        await asyncio.gather(*taking)
        during = [await theirs.held(f"{n}") for n in range(8)]
    after = [await theirs.held(f"{n}") for n in range(8)]

    assert (during, after) == ([True] * 8, [False] * 8)


async def test_whether_a_thread_runs_is_told_after_the_server_closed_a_connection(
    holders: list[Leases],
) -> None:
    assert [await each.held("t") for each in holders] == [False, False]


async def close_all_connections(url: str) -> None:
    """Do what a server that restarts does, and an administrator may do."""
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()"""
        )
