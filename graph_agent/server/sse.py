"""A run's events as Server-Sent Events."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from graph_agent.event_log import EventLog, Numbered
from graph_agent.plain_text import cleaned

HEARTBEAT = 15.0
"""Seconds of silence after which a comment goes out, so that proxies keep the stream."""
HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


def sse_response(
    log: EventLog, *, after: int = 0, heartbeat: float = HEARTBEAT
) -> StreamingResponse:
    """Send the events numbered above `after`, and those to come, until the run's `end`."""
    return StreamingResponse(
        _frames(log, after, heartbeat), media_type="text/event-stream", headers=HEADERS
    )


async def _frames(log: EventLog, after: int, heartbeat: float) -> AsyncIterator[bytes]:
    events = log.follow(after)
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


def _frame(numbered: Numbered) -> bytes:
    name, data = numbered.event["event"], numbered.event["data"]
    return format_sse_event(id=str(numbered.id), event=name, data_str=_json(data))


def _json(data: dict[str, Any]) -> str:
    try:
        return orjson.dumps(data).decode()
    except TypeError:
        # A lone surrogate that a model or a tool wrote: no encoding can carry it.
        return orjson.dumps(cleaned(data)).decode()
