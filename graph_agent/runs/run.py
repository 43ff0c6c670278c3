"""One run as a task of its own, with all that it tells."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from graph_agent.events import End, Failed, WireEvent
from graph_agent.nodes.reporting import failure
from graph_agent.runs.event_log import EventLog
from graph_agent.runs.event_writer import EventWriter

CANCELLED = Failed(code="cancelled", message="The run was cancelled. The thread can go on.")
BROKEN_OFF = "Cancelled before it finished."
"""What a call is said to have ended with."""


@dataclass
class Run:
    """One run of this process, in progress or ended."""

    thread_id: str
    log: EventLog = field(default_factory=EventLog)
    last: list[WireEvent] = field(default_factory=list)
    """Its `done` or `error`, and its `end`, told once they are stored."""
    approvals: list[dict[str, Any]] = field(default_factory=list)
    """What people are to decide: the data of each `approval`."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with the first event, or when it could not begin."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when all is told and stored, and the next run may begin."""
    work: asyncio.Task[None] | None = None
    """Does it; alone is cancelled."""
    writer: EventWriter | None = None

    @property
    def running(self) -> bool:
        """True until its last event is told."""
        return not self.log.closed

    @property
    def outcome(self) -> dict[str, Any]:
        """The data of its `done` or `error`, once it has ended; empty where it is paused."""
        found = (event["data"] for event in self.last if event["event"] in ("done", "error"))
        return next(found, {})

    def stop(self) -> None:
        """Begin to cancel it."""
        # Only once: a second time would break off the saving of what the first one stopped.
        if self.work is not None and not self.work.cancelling():
            self.work.cancel()

    async def cancel(self) -> None:
        """Cancel it, and wait until it has ended."""
        self.stop()
        await self.ended.wait()

    def last_events(self, work: asyncio.Task[None]) -> list[WireEvent]:
        """Return what it ends with; where it broke off, with the ends that are missing."""
        if any(event["event"] == "end" for event in self.last):
            return self.last
        error = None if work.cancelled() else work.exception()
        told = failure(error) if isinstance(error, Exception) else CANCELLED
        return [*self.log.opened.ends(why=BROKEN_OFF), told.wire(), End().wire()]
