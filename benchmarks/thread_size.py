"""What a thread takes on disk, and how long it takes to read it.

Run `python -m benchmarks.thread_size`: prints, for SQLite and for a PostgreSQL server that it
starts, what runs of 50 to 500 iterations take and how long their state takes to read, and the
growth of a thread over 50 turns. Each tool result has two kilobytes that hardly compress.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from langchain_core.messages import AIMessage, BaseMessage

from benchmarks.postgres import fresh_database, postgres_server
from graph_agent import ReActAgent
from graph_agent.testing import ScriptedChatModel

ITERATIONS = (50, 100, 200, 500)
TURNS = 50
EVERY = 5
"""Turns between two points of the series."""
READS = 5
RESULT_CHARS = 2_000
RELATIONS = """SELECT sum(pg_total_relation_size(oid)) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"""


def look(number: int) -> str:
    """Look.

    Args:
        number: Makes each call another one.
    """
    return f"{number} {random.Random(number).randbytes(RESULT_CHARS // 2).hex()}"


class Model:
    """Looks so many times in each turn, then answers."""

    def __init__(self, looks: int) -> None:
        self._looks, self._done = looks, 0

    def __call__(self, messages: list[BaseMessage]) -> AIMessage:
        """Look, or answer."""
        self._done += 1
        if self._done % (self._looks + 1) == 0:
            return AIMessage("Seen.")
        args = {"number": self._done}
        call = {"id": f"c{self._done}", "name": "look", "args": args, "type": "tool_call"}
        return AIMessage("", tool_calls=[call])


def agent(url: str, *, turns: int, looks: int) -> ReActAgent:
    """Make an agent whose model looks so many times in each of so many turns."""
    model = ScriptedChatModel(replies=[Model(looks)] * (turns * (looks + 1)))
    return ReActAgent(
        model,
        [look],
        database=url,
        max_iterations=looks + 1,
        context_size=2_000_000,
        synthesis="never",
        self_reflection_interval=0,
        completion_check_min_tools=0,
    )


async def long_run(url: str, looks: int) -> tuple[float, float, float]:
    """Return the seconds of a run, and the first and the median milliseconds to read its state."""
    async with agent(url, turns=1, looks=looks) as it:
        started = time.perf_counter()
        await it.run("Look.", thread_id="t")
        seconds = time.perf_counter() - started
    reads = []
    async with agent(url, turns=0, looks=1) as it:
        for _ in range(READS):
            started = time.perf_counter()
            await it.snapshot("t")
            reads.append(1000 * (time.perf_counter() - started))
    return seconds, reads[0], statistics.median(reads)


async def series(url: str) -> list[float]:
    """Return the megabytes of a thread after every few turns."""
    sizes = []
    for _ in range(TURNS // EVERY):
        async with agent(url, turns=EVERY, looks=1) as it:
            for _ in range(EVERY):
                await it.run("Look.", thread_id="t")
        sizes.append(megabytes(url))
    return sizes


def megabytes(url: str) -> float:
    """Measure what a database takes."""
    if url.startswith("sqlite"):
        file = Path(url.removeprefix("sqlite:///"))
        parts = [part for part in file.parent.glob(f"{file.name}*") if part.is_file()]
        return sum(part.stat().st_size for part in parts) / 1e6
    with psycopg.connect(url) as connection:
        row = connection.execute(RELATIONS).fetchone()
    assert row is not None
    return int(row[0]) / 1e6


@contextmanager
def fresh(kind: str, server: str) -> Iterator[str]:
    """Make an empty database and give its URL."""
    if kind == "postgres":
        with fresh_database(server) as url:
            yield url
        return
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{folder}/t.sqlite"


def main() -> None:
    """Measure and print the tables."""
    grown = {}
    with postgres_server() as server:
        print("| database | iterations | MB | s | first get_state, ms | median of 5, ms |")
        print("|---|--:|--:|--:|--:|--:|")
        for kind in ("sqlite", "postgres"):
            for looks in ITERATIONS:
                with fresh(kind, server) as url:
                    *figures, size = *asyncio.run(long_run(url, looks)), megabytes(url)
                cells = " | ".join(f"{figure:.1f}" for figure in (size, *figures))
                print(f"| {kind} | {looks} | {cells} |")
            with fresh(kind, server) as url:
                grown[kind] = asyncio.run(series(url))
    print(f"\n| turns | {' | '.join(f'{kind}, MB' for kind in grown)} |")
    print("|--:|--:|--:|")
    for at, sizes in enumerate(zip(*grown.values(), strict=True), start=1):
        print(f"| {at * EVERY} | {' | '.join(f'{size:.2f}' for size in sizes)} |")


if __name__ == "__main__":
    main()
