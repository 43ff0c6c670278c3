"""What a thread takes on disk grows with the conversation, not with its square."""

import asyncio
import random
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from graph_agent import ReActAgent
from graph_agent.testing import ScriptedChatModel

pytestmark = pytest.mark.anyio

RESULT_CHARS = 2_000
MEGABYTE = 1_000_000
RELATIONS = """SELECT sum(pg_total_relation_size(oid)) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"""


def look(number: int) -> str:
    """Look.

    Args:
        number: Makes each call another one.
    """
    # As hard to compress as real results, or harder.
    return f"{number} {random.Random(number).randbytes(RESULT_CHARS // 2).hex()}"


class Model:
    """Looks some times in each turn, then answers."""

    def __init__(self, looks: int) -> None:
        self._looks = looks
        self._numbers = count()

    def __call__(self, messages: list[BaseMessage]) -> AIMessage:
        turn = [m.type for m in messages[_last_question(messages) :]]
        if turn.count("tool") >= self._looks:
            return AIMessage("Seen.")
        number = next(self._numbers)
        call = {"id": f"c{number}", "name": "look", "args": {"number": number}, "type": "tool_call"}
        return AIMessage("", tool_calls=[call])


def _last_question(messages: list[BaseMessage]) -> int:
    return max(at for at, message in enumerate(messages) if message.type == "human")


def size_of(database: str) -> int:
    """Measure what a database takes; bytes."""
    if database.startswith("sqlite"):
        file = Path(database.removeprefix("sqlite:///"))
        return sum(
            part.stat().st_size for part in file.parent.glob(f"{file.name}*") if part.is_file()
        )
    with psycopg.connect(database) as connection:
        row = connection.execute(RELATIONS).fetchone()
    assert row is not None
    return int(row[0])


async def turns(database: str, number: int, *, looks: int) -> None:
    """Put questions to one thread, each of which takes so many iterations."""
    model = ScriptedChatModel(replies=[Model(looks)] * (number * (looks + 1)))
    settings: dict[str, Any] = {
        "database": database,
        "max_iterations": looks + 1,
        "synthesis": "never",
        "self_reflection_interval": 0,
        "completion_check_min_tools": 0,
    }
    async with ReActAgent(model, [look], **settings) as agent:
        for _ in range(number):
            await agent.run("Look.", thread_id="t")
        messages = (await agent.snapshot("t")).values["messages"]
    results = [message for message in messages if isinstance(message, ToolMessage)]
    assert len({result.text for result in results[-number * looks :]}) == number * looks


async def test_a_thread_grows_with_its_turns(database: str) -> None:
    """B86."""
    await turns(database, 25, looks=1)
    half = await asyncio.to_thread(size_of, database)
    await turns(database, 25, looks=1)

    assert await asyncio.to_thread(size_of, database) < 2.2 * half


@pytest.mark.slow
async def test_a_long_run_stays_small(database: str) -> None:
    await turns(database, 1, looks=500)

    assert await asyncio.to_thread(size_of, database) < 15 * MEGABYTE
