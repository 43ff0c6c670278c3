"""One request and its response on an open connection, watched for a client that leaves."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from starlette.types import Receive, Scope, Send

T = TypeVar("T")

JSON = "application/json"
EVENT_STREAM = "text/event-stream; charset=utf-8"


class ClientLeftError(Exception):
    """The client closed its connection before the reply ended."""


class Exchange:
    """Writes a response, and waits for things only as long as the client does."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, reset: Callable[[tuple[str, int]], None]
    ) -> None:
        self.headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        """The request's headers; names in lower case."""
        self._client: tuple[str, int] = scope["client"]
        self._receive = receive
        self._send = send
        self._reset = reset
        self._left: asyncio.Task[None] | None = None
        self._begun = False

    async def read(self) -> bytes:
        """Read the request's whole body."""
        parts = []
        more = True
        while more:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise ClientLeftError
            parts.append(event.get("body", b""))
            more = event.get("more_body", False)
        return b"".join(parts)

    async def respond(
        self,
        body: bytes,
        *,
        status: int = 200,
        content_type: str = JSON,
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Send a whole response."""
        await self.begin(
            content_type, status=status, headers=[*headers, ("content-length", str(len(body)))]
        )
        await self.end(body)

    async def begin(
        self, content_type: str, *, status: int = 200, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Send the status and the headers."""
        pairs = [("content-type", content_type), *headers]
        self._begun = True
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})

    async def write(self, data: bytes) -> None:
        """Send a part of the body."""
        if self._left is not None and self._left.done():
            raise ClientLeftError
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        """Send the last part of the body."""
        await self._send({"type": "http.response.body", "body": data})

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """Wait for something, unless the client leaves first.

        Raises:
            ClientLeftError: It did; what was waited for is cancelled.
        """
        waiting = asyncio.ensure_future(awaitable)
        self._left = self._left or asyncio.create_task(self._watch())
        try:
            await asyncio.wait((waiting, self._left), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not waiting.done():
                waiting.cancel()
        if waiting.cancelled() or not waiting.done():
            raise ClientLeftError
        return waiting.result()

    async def silence(self) -> None:
        """Say nothing more, until the client leaves."""
        await self.wait(asyncio.get_running_loop().create_future())

    async def drop(self) -> None:
        """Reset the connection."""
        self._reset(self._client)
        await self._watch()

    async def give_up(self, message: str) -> None:
        """Answer with status 500 and the text, or reset a response that has begun."""
        if self._begun:
            await self.drop()
        else:
            await self.respond(message.encode(), status=500, content_type="text/plain")

    def close(self) -> None:
        """Stop watching the client."""
        if self._left is not None:
            self._left.cancel()

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
