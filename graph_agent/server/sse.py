"""A run's events as Server-Sent Events."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import anyio
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event
from starlette.types import Receive, Scope, Send

from graph_agent.backends.events import Numbered, as_json

HEARTBEAT = 15.0
"""Seconds of silence after which a comment goes out, so that proxies keep the stream."""
HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


class EventStream(StreamingResponse):
    """Sends events as they come, until there are no more or the client goes away."""

    def __init__(
        self,
        events: AsyncGenerator[Numbered],
        *,
        over: Callable[[], Awaitable[None]] | None = None,
        heartbeat: float = HEARTBEAT,
    ) -> None:
        """Make it.

        Args:
            events: What to send.
            over: Called when the stream has ended, whether or not the client went away before.
            heartbeat: Seconds of silence after which a comment is sent.
        """
        self._frames = frames(events, heartbeat)
        self._over = over
        super().__init__(self._frames, media_type="text/event-stream", headers=HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, and clean up behind it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            # Whoever cancels us may do so again and again, at every await.
            with anyio.CancelScope(shield=True):
                await self._frames.aclose()
                if self._over is not None:
                    await self._over()


async def frames(events: AsyncGenerator[Numbered], heartbeat: float) -> AsyncGenerator[bytes]:
    """Yield each event as a frame, and a comment after each `heartbeat` seconds of silence."""
    waiting = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            done, _ = await asyncio.wait([waiting], timeout=heartbeat)
            if not done:
                yield format_sse_event(comment="still here")
                continue
            numbered = waiting.result()
            if numbered is None:
                return
            yield _frame(numbered)
            waiting = asyncio.ensure_future(anext(events, None))
    finally:
        waiting.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([waiting])
            await events.aclose()


def _frame(numbered: Numbered) -> bytes:
    name, data = numbered.event["event"], numbered.event["data"]
    return format_sse_event(id=str(numbered.id), event=name, data_str=as_json(data))
