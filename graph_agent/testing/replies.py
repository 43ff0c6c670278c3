"""What a fake endpoint can be told to answer: texts, messages, and the ways servers misbehave."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A JSON object off the wire: a client or a test may have put anything into it."""


class Gate:
    """A point at which the endpoint holds a reply back until the test opens it.

    Stands for a whole reply in `Held`, or between two items of `Deltas`. Works from any thread
    and any event loop.
    """

    def __init__(self) -> None:
        self._reached: Future[None] = Future()
        self._opened: Future[None] = Future()

    def open(self) -> None:
        """Let the reply go on; opening twice is opening once."""
        if not self._opened.done():
            self._opened.set_result(None)

    def wait_reached(self, timeout: float = 10.0) -> None:
        """Block until the endpoint waits here; `TimeoutError` after `timeout` seconds."""
        self._reached.result(timeout)

    async def reached(self, timeout: float = 10.0) -> None:  # noqa: ASYNC109 - anyio's cancel scopes would tie the fake to anyio
        """Wait until the endpoint waits here; `TimeoutError` after `timeout` seconds."""
        await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._reached)), timeout)

    async def hold(self) -> None:
        """Wait for `open`: the endpoint's side of the gate."""
        if not self._reached.done():
            self._reached.set_result(None)
        await asyncio.shield(asyncio.wrap_future(self._opened))


@dataclass(frozen=True, kw_only=True)
class HttpError:
    """An error status with the body that the profile's server would send."""

    status: int
    message: str = "The server had an error while processing your request."
    code: str | None = None
    """Machine-readable reason, such as `context_length_exceeded`."""
    headers: Sequence[tuple[str, str]] = ()
    """Further response headers, such as `("retry-after", "1")`."""
    body: bytes | None = None
    """Sent as it is instead of the JSON body: a proxy's HTML page, or nothing."""


@dataclass(frozen=True)
class Drop:
    """A connection that is reset."""

    after: "Sequence[Json | Gate] | None" = None
    """Deltas that go out first. None: reset before any byte; empty: after the headers."""


@dataclass(frozen=True)
class Silence:
    """A connection that stays open and silent until the client leaves or the endpoint closes."""

    after: "Sequence[Json | Gate] | None" = ()
    """Deltas that go out first. None: not even the headers come."""


@dataclass(frozen=True)
class Delay:
    """Another reply, late."""

    seconds: float
    """From the request's end to the reply's first byte."""
    reply: "Reply"


@dataclass(frozen=True)
class Held:
    """Another reply, once the test opens the gate."""

    gate: Gate
    reply: "Reply"


@dataclass(frozen=True)
class Deltas:
    """A stream, delta by delta, as a peculiar server would send it."""

    deltas: "Sequence[Json | Gate]"
    """Sent as written. An item with `choices` or `error` is a whole chunk; one with
    `finish_reason` ends its choice; a `Gate` holds the stream."""
    finish_reason: str | None = "auto"
    """In a last chunk of its own, unless an item gave one. "auto": `tool_calls` or `stop`, as fits.
    None: never sent."""
    usage: Mapping[str, Any] | Literal["estimate"] | None = "estimate"
    """Overrides of the estimate; None: no usage, though the client asked for it."""
    done: bool = True
    """Whether `[DONE]` is sent; without it the body just ends."""
    interval: float = 0.0
    """Seconds before each item."""


@dataclass(frozen=True)
class RawBytes:
    """A body as bytes, split anywhere, as networks do."""

    data: bytes
    chunk_size: int = 1
    """Bytes per write."""
    content_type: str = "text/event-stream"


Answer: TypeAlias = (
    str | Mapping[str, Any] | HttpError | Drop | Silence | Delay | Held | Deltas | RawBytes
)
"""A text, an assistant message, or a misbehaviour.

A message has `content`, `reasoning_content`, `tool_calls`, and beside them `finish_reason` and
`usage`. Calls may be short: `{"id", "name", "arguments"}`, arguments as wire text or as a dict.
"""

Responder: TypeAlias = Callable[[Json], Answer | Awaitable[Answer]]
"""Makes the answer from the request's body."""

Reply: TypeAlias = Answer | Responder
