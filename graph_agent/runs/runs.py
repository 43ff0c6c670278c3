"""Runs as tasks of their own: nobody's connection, and one on a thread at a time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from functools import partial

from graph_agent.agent import ReActAgent
from graph_agent.backends import Backend
from graph_agent.backends.events import Numbered
from graph_agent.errors import ThreadBusyError
from graph_agent.events import WireEvent
from graph_agent.hooks.approvals import Decisions
from graph_agent.question import Message
from graph_agent.runs.cancelling import CancelWatch, cancel_elsewhere
from graph_agent.runs.event_writer import EventWriter
from graph_agent.runs.run import CANCELLED as CANCELLED
from graph_agent.runs.run import Run as Run
from graph_agent.runs.stored_log import StoredLog, numbered_from, telling
from graph_agent.runs.tally import Tally
from graph_agent.settings import RunOptions
from graph_agent.turns import LAST_EVENTS

TELLING_TIMEOUT = 5.0
"""Seconds to wait until the last events of the run before are stored, in another process."""
TELLING_INTERVAL = 0.02
"""Seconds between two looks at whether they are."""

Events = AsyncGenerator[WireEvent]


class Runs:
    """The runs of this process, and a view of those of the others on the same database."""

    def __init__(self, agent: ReActAgent) -> None:
        self._agent = agent
        self._running: dict[str, Run] = {}
        self._keepers: set[asyncio.Task[None]] = set()
        self._watch: CancelWatch | None = None
        self.tally = Tally()

    async def start(
        self, thread_id: str, message: Message, *, options: RunOptions | None = None
    ) -> Run:
        """Start a run and return it once it has begun.

        Raises:
            ConfigError: The message is empty.
            ThreadBusyError: A run is in progress on the thread, here or in another process.
        """
        events = self._agent.stream(message, thread_id=thread_id, options=options)
        return await self._begin(thread_id, events)

    async def resume(
        self,
        thread_id: str,
        *,
        decisions: Decisions | None = None,
        options: RunOptions | None = None,
    ) -> Run:
        """Go on with a thread's unfinished run, and return once that has begun.

        Raises:
            ThreadNotFoundError: There is no such thread.
            ConfigError: Its last run is finished, or a decision is none.
            ApprovalNeededError: A decision is missing.
            ThreadBusyError: A run is in progress on the thread, here or in another process.
        """
        events = self._agent.stream_resume(thread_id, decisions=decisions, options=options)
        return await self._begin(thread_id, events)

    async def running(self, thread_id: str) -> bool:
        """Tell whether a run is in progress on the thread, in whatever process."""
        if thread_id in self._running:
            return True
        return await (await self._agent.backend()).leases.held(thread_id)

    async def follow(self, thread_id: str, after: int = 0) -> AsyncGenerator[Numbered] | None:
        """Return the events of the thread's newest run numbered above `after`, until its end.

        They come live where it runs in this process, else from the store; None where nothing is
        stored.
        """
        run = self._running.get(thread_id)
        if run is not None and run.begun.is_set():
            return run.log.follow(after)
        backend = await self._agent.backend()
        stored = await backend.events.run(thread_id)
        return StoredLog(backend, thread_id, stored).follow(after) if stored else None

    async def cancel(self, thread_id: str) -> bool:
        """Stop the thread's run and wait until it has ended; False where none is in progress.

        Raises:
            TimeoutError: It runs in another process, which has not stopped it in time.
        """
        run = self._running.get(thread_id)
        if run is None:
            return await cancel_elsewhere(await self._agent.backend(), thread_id)
        await run.cancel()
        return True

    async def aclose(self) -> None:
        """Stop all runs."""
        await asyncio.gather(*(run.cancel() for run in [*self._running.values()]))

    @property
    def in_progress(self) -> int:
        """How many runs of this process are in progress."""
        return len(self._running)

    async def _begin(self, thread_id: str, events: Events) -> Run:
        if thread_id in self._running:
            raise ThreadBusyError(thread_id)
        run = self._running[thread_id] = Run(thread_id)
        held = AsyncExitStack()
        run.work = asyncio.create_task(self._tell(run, events, held))
        keeper = asyncio.create_task(self._keep(run, run.work, held))
        self._keepers.add(keeper)
        keeper.add_done_callback(self._keepers.discard)
        await run.begun.wait()
        if run.work.done() and not run.last:
            await run.work
        return run

    async def _tell(self, run: Run, events: Events, held: AsyncExitStack) -> None:
        """Tell a run's events, but for the last ones."""
        async with aclosing(events):
            backend = await self._agent.backend()
            self._look_for_cancels(backend)
            await _hold(backend, run.thread_id, held)
            async for event in events:
                if run.writer is None:
                    run.writer = await _writer(run, backend)
                    self.tally.started += 1
                if event["event"] == "approval":
                    run.approvals.append(event["data"])
                if event["event"] in LAST_EVENTS:
                    run.last.append(event)
                else:
                    run.writer.add(run.log.append(event))
                    run.begun.set()

    async def _keep(self, run: Run, work: asyncio.Task[None], held: AsyncExitStack) -> None:
        """Store and tell a run's end, whatever ended it, and let all who follow it go."""
        try:
            async with held:
                await asyncio.wait([work])
                if run.writer is not None or work.cancelled():
                    run.last = run.last_events(work)
                if run.writer is not None:
                    self.tally.take(run.outcome)
                    await run.writer.finish(numbered_from(run.log.next_id, run.last))
        finally:
            del self._running[run.thread_id]
            if self._watch is not None and not self._running:
                self._watch.stop()
            for event in run.last:
                run.log.append(event)
            run.log.close()
            run.begun.set()
            run.ended.set()

    def _look_for_cancels(self, backend: Backend) -> None:
        if self._watch is None:
            self._watch = CancelWatch(backend.events, self._obey)
        self._watch.start()

    def _obey(self, thread_id: str, number: int) -> None:
        run = self._running.get(thread_id)
        if run is not None and run.writer is not None and run.log.first_id == number:
            run.stop()


async def _hold(backend: Backend, thread_id: str, held: AsyncExitStack) -> None:
    """Be the one who tells the thread's events, until `held` is closed."""
    end = asyncio.get_running_loop().time() + TELLING_TIMEOUT
    while True:
        try:
            await held.enter_async_context(backend.leases.hold(telling(thread_id)))
        except ThreadBusyError:
            late = asyncio.get_running_loop().time() > end
            if late or await backend.leases.held(thread_id):
                raise ThreadBusyError(thread_id) from None
            await asyncio.sleep(TELLING_INTERVAL)
        else:
            return


async def _writer(run: Run, backend: Backend) -> EventWriter:
    """Make a run, which now has the thread for itself, the newest one of the store."""
    events, thread_id = backend.events, run.thread_id
    number = await events.begin(thread_id)
    run.log.stored_from(number, partial(events.after, thread_id, number))
    return EventWriter(events, thread_id, number, stored=run.log.forget)
