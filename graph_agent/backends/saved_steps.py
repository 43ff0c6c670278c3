"""Knows which step of a thread is saved, so that nobody acts on one that is not."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

Place: TypeAlias = tuple[str, str]
"""A thread and, in it, a graph's namespace."""

NOTHING = ""
"""Comes before every step."""
RUNTIME = "__pregel_runtime"
"""LangGraph has it in the config of a run, and not of whoever only reads."""
DURABILITY = "__pregel_durability"
"""When the run is saved, where that was chosen: with `exit`, at its end alone."""


class SavedSteps:
    """The newest saved step of each thread; ids of steps grow."""

    def __init__(self) -> None:
        self.hurry: Callable[[], None] = _nothing
        """Saves at once what is about to be saved."""
        self._newest: dict[Place, str] = {}
        self._failed: dict[Place, Exception] = {}
        """What kept a thread from being saved: no later step of the run will be."""
        self._waiting: dict[Place, list[tuple[str, asyncio.Future[None]]]] = {}

    def begin(self, place: Place, step: str, *, at_exit: bool) -> None:
        """Note that a run begins.

        Args:
            place: Its thread.
            step: The newest saved step; `NOTHING` where there is none.
            at_exit: Whether none of its steps is saved before its end: then none is waited for.
        """
        self._failed.pop(place, None)
        if at_exit:
            self._newest.pop(place, None)
        else:
            self.saved(place, step)

    def saved(self, place: Place, step: str) -> None:
        """Note that a step is saved, and with it all before it."""
        newest = self._newest[place] = max(step, self._newest.get(place, NOTHING))
        waiting = self._waiting.pop(place, [])
        for awaited, done in waiting:
            if awaited > newest:
                self._waiting.setdefault(place, []).append((awaited, done))
            elif not done.done():
                done.set_result(None)

    def failed(self, place: Place, error: Exception) -> None:
        """Tell those who wait, and will wait, that the thread cannot be saved."""
        self._failed[place] = error
        for _, done in self._waiting.pop(place, []):
            if not done.done():
                done.set_exception(error)

    async def wait(self, thread_id: str, namespace: str, step: str) -> None:
        """Return once a step of a run that goes on in this process is saved.

        Of a run that saves no steps, or elsewhere, nothing is waited for.

        Raises:
            Exception: What kept it from being saved.
        """
        place = (thread_id, namespace)
        if error := self._failed.get(place):
            raise error
        if self._newest.get(place, step) >= step:
            return
        self.hurry()
        done = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(place, []).append((step, done))
        await done

    def awaited(self, place: Place) -> bool:
        """Tell whether anybody waits for a step of a thread."""
        return place in self._waiting

    def forget(self, thread_id: str) -> None:
        """Forget a thread that is deleted."""
        for known in (self._newest, self._failed):
            for place in [place for place in known if place[0] == thread_id]:
                del known[place]


class KnownSteps(BaseCheckpointSaver[str]):
    """A checkpointer, mixed in before one that saves, that tells which steps it has saved."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.steps = SavedSteps()

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; LangGraph hands it over once what it consists of is saved."""
        with self._noting_failure(config):
            saved = await super().aput(config, checkpoint, metadata, new_versions)
        self.steps.saved(place_of(config), checkpoint["id"])
        return saved

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save what a task wrote; where that fails, LangGraph hands over no further checkpoint."""
        with self._noting_failure(config):
            await super().aput_writes(config, writes, task_id, task_path)

    @contextmanager
    def _noting_failure(self, config: RunnableConfig) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.steps.failed(place_of(config), error)
            raise

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint; where a run begins with it, it may be another process's work."""
        found = await super().aget_tuple(config)
        about = config["configurable"]
        if RUNTIME in about:
            place = place_of(found.config if found else config)
            newest = found.checkpoint["id"] if found else NOTHING
            self.steps.begin(place, newest, at_exit=about.get(DURABILITY) == "exit")
        return found

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread."""
        await super().adelete_thread(thread_id)
        self.steps.forget(thread_id)


def _nothing() -> None:
    """Do nothing: it is saved as soon as can be."""


def place_of(config: RunnableConfig) -> Place:
    """Return where a checkpoint belongs."""
    place = config["configurable"]
    return str(place["thread_id"]), place.get("checkpoint_ns", "")
