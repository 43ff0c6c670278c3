"""One run on a thread, under its lease, until everything that was added to it is answered."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4

from langchain_core.messages import HumanMessage
from langgraph.types import Command

from graph_agent.backends import Backend
from graph_agent.errors import ThreadBusyError
from graph_agent.event_sink import EventSink, run_events
from graph_agent.events import End, WireEvent
from graph_agent.interrupts import InterruptQueue, drained_ids
from graph_agent.models.images import words_of
from graph_agent.nodes.reporting import failure
from graph_agent.settings import RunOptions
from graph_agent.sync_graph import AgentGraph
from graph_agent.threads.listing import ThreadList, config_for
from graph_agent.threads.repair import repair

LAST_EVENTS = ("done", "error", "end")
DRAIN: Command[str] = Command(goto="drain_interrupts")
"""Goes on with a run that had ended, for what was added as it ended."""


@dataclass
class Ending:
    """How a run ended; where it went on after its end, the later one counts."""

    told: dict[str, WireEvent] = field(default_factory=dict)
    """The last events by name."""
    failed: Exception | None = None

    def events(self) -> list[WireEvent]:
        """Return the last events; a failure that no node told takes the place of a `done`."""
        if self.failed is None:
            # A run that pauses for a person ends its stream without a `done`.
            return [*filter(None, [self.told.get("done")]), End().wire()]
        return [self.told.get("error") or failure(self.failed).wire(), End().wire()]


class Turns:
    """Runs on the threads of one place, each yielding its events."""

    def __init__(self, backend: Backend, graph: AgentGraph, *, durability: str) -> None:
        self._backend = backend
        self._graph = graph
        self._durability: Any = durability

    async def events(
        self,
        thread_id: str,
        message: HumanMessage | Command[str] | None,
        options: RunOptions | None,
    ) -> AsyncGenerator[WireEvent]:
        """Yield a run's events, then raise what ended it early.

        The last events come when all is saved and the thread is free again. Only then is the queue
        looked at for the last time: whoever puts a message there, and finds the thread still held,
        knows that it will be seen.

        Args:
            thread_id: The thread.
            message: The question; None goes on from the last saved step, `DRAIN` with a run that
                had ended.
            options: Choices for this run.

        Raises:
            ThreadBusyError: A run is in progress on the thread.
        """
        config_for(thread_id)  # An id that cannot be stored is refused before anything is done.
        step = {"messages": [message]} if isinstance(message, HumanMessage) else message
        ending = Ending()
        async with aclosing(self._rounds(thread_id, step, options, ending)) as events:
            async for event in events:
                yield event
        for event in ending.events():
            yield event
        if ending.failed is not None:
            raise ending.failed

    async def _rounds(
        self, thread_id: str, step: Any, options: RunOptions | None, ending: "Ending"
    ) -> AsyncGenerator[WireEvent]:
        """Yield the events of the run, and of its going on for what was added as it ended."""
        while True:
            try:
                async with (
                    self._backend.leases.hold(thread_id),
                    aclosing(self._steps(thread_id, step, options, ending)) as events,
                ):
                    async for event in events:
                        yield event
            except ThreadBusyError:
                if ending.told:
                    return  # The next run has begun already, and reads what was added.
                raise
            except Exception as error:  # noqa: BLE001 -- raised once the last events are told
                ending.failed = error
                return
            paused = ending.told and "done" not in ending.told
            if paused or not await self._queue(thread_id).pending():
                return
            step = DRAIN

    async def _steps(
        self,
        thread_id: str,
        step: Any,
        options: RunOptions | None,
        ending: "Ending",
    ) -> AsyncGenerator[WireEvent]:
        """Yield what the nodes write, but for the last events."""
        if isinstance(step, dict):
            await repair(self._graph, thread_id)
        await ThreadList(self._backend.store).touch(thread_id, _title(step))
        run_id = uuid4()

        def start(tell: Callable[[WireEvent], None]) -> AsyncIterator[Any]:
            return self._graph.astream(
                step,
                config_for(thread_id, run_id=run_id),
                context=cast("RunOptions", EventSink(options, tell, str(run_id))),
                stream_mode=[],  # With one, LangGraph would watch each step beside the stream.
                durability=self._durability,
                version="v2",
            )

        async with aclosing(run_events(start)) as events:
            async for event in events:
                if event["event"] in LAST_EVENTS:
                    ending.told[event["event"]] = event
                else:
                    yield event
        await self._acknowledge(thread_id)

    async def _acknowledge(self, thread_id: str) -> None:
        """Forget what was added and is in the thread, now that all steps are saved."""
        queue = self._queue(thread_id)
        queued = await queue.pending()
        if not queued:
            return
        saved = (await self._graph.aget_state(config_for(thread_id))).values
        known = drained_ids([*saved.get("messages", []), *saved.get("held", [])])
        await queue.acknowledge([item.id for item in queued if item.id in known])

    def _queue(self, thread_id: str) -> InterruptQueue:
        return InterruptQueue(self._backend.store, thread_id)


def _title(step: Any) -> str:
    return words_of(step["messages"][0]) if isinstance(step, dict) else ""
