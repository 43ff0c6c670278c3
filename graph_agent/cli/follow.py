"""Follows one run to its end: shows its events, and finds the exit code."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from types import FrameType

import typer

from graph_agent.agent import ReActAgent
from graph_agent.cli.exit_codes import ExitCode, exit_code_of_error, exit_code_of_stop
from graph_agent.cli.safe_text import one_line
from graph_agent.cli.views import View
from graph_agent.events import End, WireEvent
from graph_agent.runs.event_log import closing_events
from graph_agent.runs.runs import CANCELLED

Events = AsyncGenerator[WireEvent]


@contextmanager
def agent_loop(agent: ReActAgent) -> Iterator[asyncio.Runner]:
    """Give the event loop that the agent's runs share, and close the agent at the end.

    Ctrl-C and SIGTERM cancel what runs on it, and nothing else.
    """
    with asyncio.Runner() as runner, _terminated_as_interrupted():
        try:
            yield runner
        finally:
            runner.run(agent.aclose())


async def follow(events: Events, view: View, thread_id: str) -> ExitCode | None:
    """Show a run's events and return its exit code; being cancelled is one way to end.

    Returns:
        The exit code; None where the run has paused until a person decides.

    Raises:
        GraphAgentError: The run could not begin.
    """
    code = None
    async with aclosing(_closed(events)) as told:
        async for event in told:
            view.show(event)
            if event["event"] == "done":
                code = exit_code_of_stop(event["data"]["stop_reason"])
            elif event["event"] == "error":
                code = exit_code_of_error(event["data"]["code"])
                typer.echo(_last_words(event, thread_id), err=True)
    return code


async def _closed(events: Events) -> Events:
    """Yield the events, and where the run is cancelled the ends that are missing."""
    told: list[WireEvent] = []
    try:
        async with aclosing(events):
            async for event in events:
                told.append(event)
                yield event
    except asyncio.CancelledError:
        missing = closing_events(told, why="Cancelled before it finished.")
        for event in [*missing, CANCELLED.wire(), End().wire()]:
            yield event


def _last_words(event: WireEvent, thread_id: str) -> str:
    if event["data"]["code"] == CANCELLED.code:
        return f"cancelled: `graph-agent resume {one_line(thread_id)}` goes on with it."
    return f"error: {one_line(event['data']['message'])}"


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
