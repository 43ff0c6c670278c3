"""Reads the pieces of a streamed reply from the endpoint's Server-Sent Events."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any

import aiohttp

from graph_agent.errors import ModelUnavailableError
from graph_agent.models.endpoint_error import EndpointError
from graph_agent.models.event_decoder import EventDecoder

BROKEN_OFF = "The model's endpoint broke off amid its reply. Try again later."
DONE = "[DONE]"
DRAIN = 0.1
"""Seconds for the end of the body after that mark: only a connection that was read to its end can
be used again."""


class EventStream:
    """A stream that knows whether it was ended on purpose."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.ended = False
        """Whether `[DONE]` came."""

    async def pieces(self, *, idle_timeout: float) -> AsyncGenerator[Mapping[str, Any]]:
        """Yield the pieces of a reply, and close the connection after the last.

        Args:
            idle_timeout: Seconds that may pass between two; the first may take longer.

        Raises:
            EndpointError: The endpoint told an error in place of a piece.
            ModelUnavailableError: A piece was cut, or is none.
            ConnectionError: The connection broke.
            TimeoutError: The endpoint fell silent.
        """
        # Until the first one the prompt is read, which takes a small machine minutes: that is for
        # the time-out of the whole call.
        patience: float | None = None
        async with self._response, aclosing(self._events()) as events:
            while True:
                try:
                    async with asyncio.timeout(patience):
                        data = await anext(events, DONE)
                except aiohttp.ClientError as error:
                    raise lost(error) from error
                except ValueError as error:
                    raise ModelUnavailableError(BROKEN_OFF) from error
                if data == DONE:
                    return
                yield _piece(data)
                patience = idle_timeout

    async def _events(self) -> AsyncGenerator[str]:
        """Yield what the events hold, up to the mark that ends them."""
        decoder = EventDecoder()
        async for packet in self._response.content.iter_any():
            for data in decoder.feed(packet):
                if data.startswith(DONE):
                    self.ended = True
                    with suppress(TimeoutError):
                        async with asyncio.timeout(DRAIN):
                            await self._response.read()
                    return
                yield data


def lost(error: aiohttp.ClientError) -> ConnectionError | TimeoutError:
    """Return as Python's own error what became of a connection."""
    said = str(error) or type(error).__name__
    return TimeoutError(said) if isinstance(error, TimeoutError) else ConnectionError(said)


def _piece(data: str) -> Mapping[str, Any]:
    try:
        piece = json.loads(data)
    except ValueError as error:
        raise ModelUnavailableError(BROKEN_OFF) from error
    if not isinstance(piece, dict):
        raise ModelUnavailableError(
            f"The model's endpoint sent what is no piece of a reply: {str(piece)[:300]}"
        )
    if piece.get("error"):
        raise EndpointError(piece, status_code=None)
    return piece
