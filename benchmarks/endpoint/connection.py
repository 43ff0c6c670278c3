"""HTTP/1.1 over bare asyncio: keep-alive, bodies of any size, streams in chunks."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.endpoint.replies import Body, Streamed, Whole, reply_to

LEAST_BUFFER = 64 * 1_024
"""Bytes; doubled as requests grow."""
HEAD_ENDS = b"\r\n\r\n"
LENGTH = b"content-length:"
COUNT_PATH = b"/requests"
WHOLE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"


@dataclass
class Tally:
    """What the endpoint was asked, over all connections."""

    requests: int = 0


class Connection(asyncio.BufferedProtocol):
    """One client's connection; asyncio sends without delay (TCP_NODELAY) of itself."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._buffer = bytearray(LEAST_BUFFER)
        """Used again for each request, so that large ones take no fresh memory."""
        self._received = 0
        """Bytes of the request that are there."""
        self._body = 0
        """Where its body begins; 0 until its head is there."""
        self._end = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        """Give room for what comes next."""
        if self._received == len(self._buffer):
            self._buffer = self._buffer + bytes(len(self._buffer))
        return memoryview(self._buffer)[self._received :]

    def buffer_updated(self, nbytes: int) -> None:
        """Answer once a request is whole; nobody sends the next one before."""
        self._received += nbytes
        if not self._body:
            self._read_head()
        if self._body and self._received >= self._end:
            body = Body(self._buffer, self._body, self._end)
            self._received = self._body = 0
            self._answer(body)

    def _read_head(self) -> None:
        end = self._buffer.find(HEAD_ENDS, 0, self._received)
        if end < 0:
            return
        head = self._buffer[:end].lower()
        at = head.find(LENGTH)
        length = int(head[at + len(LENGTH) :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        self._body = end + len(HEAD_ENDS)
        self._end = self._body + length

    def _answer(self, body: Body) -> None:
        if self._buffer.startswith(b"GET"):
            self._write_whole(b"%d" % self._tally.requests)
            return
        self._tally.requests += 1
        match reply_to(body):
            case Whole(text):
                self._write_whole(text)
            case Streamed(events, every):
                self._transport.write(STREAM_HEAD)
                if every:
                    loop = asyncio.get_running_loop()
                    self._write_later(events, loop.time() + every, every)
                else:
                    self._transport.write(b"".join(map(_chunk, events)) + LAST_CHUNK)

    def _write_whole(self, body: bytes) -> None:
        self._transport.write(WHOLE_HEAD % len(body) + body)

    def _write_later(self, events: Iterator[bytes], when: float, every: float) -> None:
        loop = asyncio.get_running_loop()
        loop.call_at(when, self._write_next, events, when, every)

    def _write_next(self, events: Iterator[bytes], when: float, every: float) -> None:
        event = next(events, None)
        if self._transport.is_closing():
            return
        if event is None:
            self._transport.write(LAST_CHUNK)
            return
        self._transport.write(_chunk(event))
        self._write_later(events, when + every, every)


def _chunk(event: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(event), event)
