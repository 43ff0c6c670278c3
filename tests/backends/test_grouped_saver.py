"""Saving checkpoints in a SQLite file, in groups."""

import asyncio
import gc
import sqlite3
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from graph_agent.backends import open_backend

pytestmark = pytest.mark.anyio


async def test_what_cannot_be_saved_is_told_once(tmp_path: Path) -> None:
    """A checkpoint tells what became of all that it consists of, and asyncio nothing behind it."""
    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what["message"]))
    backend = await open_backend(f"sqlite:///{tmp_path}/t.sqlite")
    saver = backend.checkpointer
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON writes BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    checkpoint = empty_checkpoint()
    place = {"thread_id": "t", "checkpoint_ns": ""}
    config = RunnableConfig(configurable={**place, "checkpoint_id": checkpoint["id"]})

    await saver.aput_writes(config, [("messages", "a")], "task")
    with pytest.raises(sqlite3.IntegrityError, match="full"):
        await saver.aput(RunnableConfig(configurable=place), checkpoint, {}, {})

    assert [found async for found in saver.alist(config)] == []
    await backend.close()
    del backend, saver
    gc.collect()  # An error that nobody asked for is told when its future goes.
    assert told == []
