"""Saving checkpoints in a SQLite file, in groups."""

import gc
import sqlite3
from pathlib import Path

import pytest

from graph_agent import ReActAgent
from graph_agent.testing import ScriptedChatModel

pytestmark = pytest.mark.anyio


async def test_what_cannot_be_saved_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A checkpoint tells what became of all that it consists of; nothing is told behind it."""
    database = f"sqlite:///{tmp_path}/t.sqlite"
    async with ReActAgent(ScriptedChatModel(replies=["Hello."]), database=database) as agent:
        await agent.backend()
        with sqlite3.connect(tmp_path / "t.sqlite") as connection:
            connection.execute(
                "CREATE TRIGGER full BEFORE INSERT ON writes BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        events = [event["event"] async for event in agent.stream("Hi", thread_id="t")]
    gc.collect()  # asyncio tells of an error that nobody asked for once its future is gone.

    assert events[-2:] == ["error", "end"]
    assert [record.name for record in caplog.records] == ["graph_agent.nodes.reporting"]
