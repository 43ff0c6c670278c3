"""Runs as tasks of their own: nobody's connection, and one on a thread at a time."""

import asyncio
from dataclasses import dataclass, field

from graph_agent.agent import Message, ReActAgent
from graph_agent.errors import ThreadBusyError
from graph_agent.event_log import EventLog, closing_events
from graph_agent.events import End, Failed
from graph_agent.settings import RunOptions

CANCELLED = Failed(code="cancelled", message="The run was cancelled. The thread can go on.")


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
        return self.task is not None and not self.task.done()


class Runs:
    """The runs of this process, the newest of each thread."""

    def __init__(self, agent: ReActAgent) -> None:
        self._agent = agent
        self._newest: dict[str, Run] = {}

    def newest(self, thread_id: str) -> Run | None:
        """Return the thread's newest run of this process."""
        return self._newest.get(thread_id)

    async def start(
        self, thread_id: str, message: Message, *, options: RunOptions | None = None
    ) -> Run:
        """Start a run and return it once it has begun.

        Raises:
            ThreadBusyError: A run is in progress on the thread, here or in another process.
        """
        before = self._newest.get(thread_id)
        if before is not None and before.running:
            raise ThreadBusyError(thread_id)
        run = Run(thread_id, EventLog(first_id=before.log.next_id if before else 1))
        self._newest[thread_id] = run
        run.task = asyncio.create_task(self._drive(run, message, options))
        await run.begun.wait()
        if not run.log.events:
            await run.task
        return run

    async def cancel(self, thread_id: str) -> bool:
        """Stop the thread's run and wait until it has ended; False where none is in progress."""
        run = self._newest.get(thread_id)
        if run is None or run.task is None or run.task.done():
            return False
        run.task.cancel()
        await asyncio.wait([run.task])
        return True

    async def aclose(self) -> None:
        """Stop all runs."""
        for thread_id in list(self._newest):
            await self.cancel(thread_id)

    async def _drive(self, run: Run, message: Message, options: RunOptions | None) -> None:
        try:
            events = self._agent.stream(message, thread_id=run.thread_id, options=options)
            async for event in events:
                await run.log.append(event)
                run.begun.set()
        except asyncio.CancelledError:
            told = [numbered.event for numbered in run.log.events]
            missing = closing_events(told, why="Cancelled before it finished.")
            for event in [*missing, CANCELLED.wire(), End().wire()]:
                await run.log.append(event)
        finally:
            run.begun.set()
