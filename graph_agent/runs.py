"""Runs as tasks of their own: nobody's connection, and one on a thread at a time."""

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from graph_agent.agent import ReActAgent
from graph_agent.errors import ThreadBusyError
from graph_agent.event_log import EventLog, closing_events
from graph_agent.events import End, Failed
from graph_agent.question import Message
from graph_agent.settings import RunOptions

CANCELLED = Failed(code="cancelled", message="The run was cancelled. The thread can go on.")
MOST_KEPT = 200
"""Threads whose newest run can be read again; runs in progress are always kept."""


@dataclass
class Run:
    """One run in progress, or the newest one of its thread."""

    thread_id: str
    log: EventLog
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with the first event, or when it could not begin."""
    task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """True until its last event is told."""
        return not self.log.closed


class Runs:
    """The runs of this process, the newest of each thread."""

    def __init__(self, agent: ReActAgent, *, keep: int = MOST_KEPT) -> None:
        self._agent = agent
        self._keep = keep
        self._newest: dict[str, Run] = {}

    def newest(self, thread_id: str) -> Run | None:
        """Return the thread's newest run of this process."""
        return self._newest.get(thread_id)

    async def start(
        self, thread_id: str, message: Message, *, options: RunOptions | None = None
    ) -> Run:
        """Start a run and return it once it has begun.

        Raises:
            ConfigError: The message is empty.
            ThreadBusyError: A run is in progress on the thread, here or in another process.
        """
        before = self._newest.get(thread_id)
        if before is not None and before.running:
            raise ThreadBusyError(thread_id)
        run = Run(thread_id, EventLog(first_id=time.time_ns() // 1_000))
        self._remember(run)
        run.task = asyncio.create_task(self._drive(run, message, options))
        run.task.add_done_callback(partial(_end, run))
        await run.begun.wait()
        if not run.log.events:
            self._forget(run, before)
            await run.task
        return run

    async def cancel(self, thread_id: str) -> bool:
        """Stop the thread's run and wait until it has ended; False where none is in progress."""
        run = self._newest.get(thread_id)
        if run is None or run.task is None or not run.running:
            return False
        # Only once: a second one would break off the saving of what the first one stopped.
        if not run.task.cancelling():
            run.task.cancel()
        await asyncio.wait([run.task])
        return True

    async def aclose(self) -> None:
        """Stop all runs."""
        await asyncio.gather(*(self.cancel(thread_id) for thread_id in self._newest))

    def _remember(self, run: Run) -> None:
        """Make it the newest of its thread; of all the ended ones the oldest are forgotten."""
        self._newest.pop(run.thread_id, None)
        self._newest[run.thread_id] = run
        ended = [thread_id for thread_id, known in self._newest.items() if not known.running]
        for thread_id in ended[: max(0, len(self._newest) - self._keep)]:
            del self._newest[thread_id]

    def _forget(self, run: Run, before: Run | None) -> None:
        """Let the run before one that could not begin be the newest again."""
        if before is not None:
            self._newest[run.thread_id] = before
        else:
            del self._newest[run.thread_id]

    async def _drive(self, run: Run, message: Message, options: RunOptions | None) -> None:
        events = self._agent.stream(message, thread_id=run.thread_id, options=options)
        async with aclosing(events):
            async for event in events:
                run.log.append(event)
                run.begun.set()


def _end(run: Run, task: asyncio.Task[None]) -> None:
    """Tell the end of a run that did not tell it itself, and let all who follow it go."""
    if task.cancelled():
        told = [numbered.event for numbered in run.log.events]
        missing = closing_events(told, why="Cancelled before it finished.")
        for event in [*missing, CANCELLED.wire(), End().wire()]:
            run.log.append(event)
    run.log.close()
    run.begun.set()
