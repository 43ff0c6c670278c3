"""Hands a run's events straight to whoever started it.

By LangGraph's stream each event takes two tasks and some turns of the event loop, which together
are a sixth of an iteration.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from langgraph.runtime import Runtime

from graph_agent.events import WireEvent
from graph_agent.settings import RunOptions

NO_CHOICE = RunOptions()


@dataclass(frozen=True)
class EventSink:
    """The context of a run whose events somebody takes; in place of its options alone."""

    options: RunOptions | None
    tell: Callable[[WireEvent], None]
    run_id: str
    """The run: those inside its tools inherit the context, and are not meant."""


def options_of(runtime: Runtime[RunOptions]) -> RunOptions:
    """Return the choices of a run."""
    # Without a choice LangGraph passes None, whatever its type says.
    given: RunOptions | EventSink | None = runtime.context
    chosen = given.options if isinstance(given, EventSink) else given
    return NO_CHOICE if chosen is None else chosen


def with_sink(runtime: Runtime[RunOptions]) -> Runtime[RunOptions]:
    """Let a node write to whoever takes the events of its run, if anybody does."""
    given: RunOptions | EventSink | None = runtime.context
    run = runtime.execution_info
    if isinstance(given, EventSink) and run and run.run_id == given.run_id:
        return runtime.override(stream_writer=given.tell)
    return runtime


async def run_events(
    start: Callable[[Callable[[WireEvent], None]], AsyncIterator[Any]],
) -> AsyncGenerator[WireEvent]:
    """Run a graph and yield its events, then raise what ended it early.

    A consumer that leaves cancels the run, and waits until it has ended.

    Args:
        start: Begins the run; it is given what takes the events. Parts of the run's own stream
            are passed by.
    """
    events = asyncio.Queue[WireEvent | None]()
    parts = cast("AsyncGenerator[Any]", start(events.put_nowait))
    run = asyncio.create_task(_to_the_end(parts, events))
    try:
        while (event := await events.get()) is not None:
            yield event
        await run
    finally:
        run.cancel()
        await asyncio.wait([run])
        if not run.cancelled():
            run.exception()  # It is raised above, or nobody is left to be told.


async def _to_the_end(parts: AsyncGenerator[Any], events: asyncio.Queue[WireEvent | None]) -> None:
    try:
        async with aclosing(parts):
            async for _ in parts:
                pass
    finally:
        events.put_nowait(None)
