"""LangGraph's SQLite checkpointer, with writes in groups."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.sqlite import SqliteSaver

from graph_agent.backends.grouped_writes import LAG, GroupedWrites, Write

PUT = """INSERT OR REPLACE INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
PUT_WRITES = """INSERT OR {conflict} INTO writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
KNOWN = "SELECT 1 FROM checkpoints WHERE thread_id = ? LIMIT 1"
DELETE = [f"DELETE FROM {table} WHERE thread_id = ?" for table in ("checkpoints", "writes")]
REPLACE, IGNORE = (PUT_WRITES.format(conflict=word) for word in ("REPLACE", "IGNORE"))


class GroupedSqliteSaver(SqliteSaver):
    """Reads in one step in a thread, and writes in groups.

    A checkpoint returns once it is committed, and with it what it consists of. What tasks wrote is
    committed before, but nobody waits for that alone: waiting for each is most of what it costs.
    """

    def __init__(
        self, connection: sqlite3.Connection, reader: sqlite3.Connection, writes: GroupedWrites
    ) -> None:
        """Use three ways into one file.

        Args:
            connection: For reading, in any thread.
            reader: To see, on the event loop's thread, whether there is anything to read.
            writes: For writing.
        """
        super().__init__(connection)
        self._reader = reader
        self._writes = writes
        self._of_tasks: dict[str, list[Write]] = {}
        """What tasks of a thread wrote since its newest checkpoint."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint."""
        await self._writes.settled()
        found = self._reader.execute(KNOWN, (str(config["configurable"]["thread_id"]),))
        return await asyncio.to_thread(self.get_tuple, config) if found.fetchone() else None

    async def alist(
        self, config: RunnableConfig | None, **choice: Any
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first; the arguments are those of `list`."""
        await self._writes.settled()
        for found in await asyncio.to_thread(lambda: [*self.list(config, **choice)]):
            yield found

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read what a channel that grows was made of."""
        await self._writes.settled()
        return await asyncio.to_thread(
            self.get_delta_channel_history, config=config, channels=channels
        )

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread."""
        deleted = [self._writes.execute(sql, [(thread_id,)]).done for sql in DELETE]
        await asyncio.gather(*deleted)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint.

        Raises:
            Exception: It, or what a task wrote before, cannot be saved.
        """
        place = config["configurable"]
        about = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False)
        thread_id = str(place["thread_id"])
        row = (
            thread_id,
            place["checkpoint_ns"],
            checkpoint["id"],
            place.get("checkpoint_id"),
            *self.serde.dumps_typed(checkpoint),
            about.encode("utf-8", "ignore"),
        )
        before = self._of_tasks.pop(thread_id, [])
        lag = 0.0 if self._is_awaited(config) else LAG
        put = self._writes.execute(PUT, [row], needs=before, lag=lag)
        try:
            await put.done  # And so are all of `before`.
        except Exception:
            for write in before:
                write.done.exception()  # One of them is being raised.
            raise
        saved = {key: place[key] for key in ("thread_id", "checkpoint_ns")}
        return RunnableConfig(configurable={**saved, "checkpoint_id": checkpoint["id"]})

    def _is_awaited(self, config: RunnableConfig) -> bool:
        """Tell whether somebody waits for it; else the next step may come along."""
        return False

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save what a task wrote; what was saved of it before stays, but for its marks.

        Marks, such as that of a pause, may be the last that a run writes: they are waited for.
        """
        place = config["configurable"]
        keys = [str(place[key]) for key in ("thread_id", "checkpoint_ns", "checkpoint_id")]
        rows = [
            (
                *keys,
                task_id,
                task_path,
                WRITES_IDX_MAP.get(channel, index),
                channel,
                *self.serde.dumps_typed(value),
            )
            for index, (channel, value) in enumerate(writes)
        ]
        marks = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        # The checkpoint that they lead to comes at once, mostly.
        write = self._writes.execute(REPLACE if marks else IGNORE, rows, lag=0 if marks else LAG)
        if marks:
            await write.done
        else:
            self._of_tasks.setdefault(keys[0], []).append(write)
