"""What the endpoint says: read off the request's bytes, made of bytes that are built once."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from benchmarks.clocks import cpu_of
from benchmarks.task import ANSWER, MODEL, RESULT_BEGINS

QUESTION = re.compile(rb"(Go|Say) (\d+)(?: every (\d+) ms)?(?: seen by (\d+))?")
RESULT = RESULT_BEGINS.encode()
STREAM, IS_ON = b'"stream"', re.compile(rb": ?true")
TOOLS = b'"tools"'
FINAL_ANSWER = b'"final_answer"'
"""Some agents end a run by a tool of this name."""
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
PIECE = "word "
OUR_ANSWER = json.dumps({"type": "final_answer", "answer": ANSWER})


class Call(NamedTuple):
    """A call of a tool."""

    name: str
    args: str
    id: str


ANSWER_CALL = Call("final_answer", json.dumps({"answer": ANSWER}), "last")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A text in pieces, and how it is sent."""

    pieces: int
    every: float = 0.0
    """Seconds between two pieces; 0 sends all at once."""
    seen_by: int | None = None
    """The process whose CPU clock is stamped into each piece."""

    def texts(self) -> Iterator[str]:
        """Make each piece when it is asked for, so that its stamp is true."""
        for _ in range(self.pieces):
            if self.seen_by is None:
                yield PIECE
            else:
                yield f"t{time.monotonic_ns()}c{cpu_of(self.seen_by)} "


@dataclass(frozen=True)
class Whole:
    """A reply that is sent at once."""

    body: bytes


@dataclass(frozen=True)
class Streamed:
    """A reply that is sent event by event."""

    events: Iterator[bytes]
    every: float
    """Seconds between two events; 0 sends all at once."""


@dataclass(frozen=True)
class Body:
    """A request's body, where it lies in what was received."""

    received: bytearray
    start: int
    end: int

    def count(self, text: bytes) -> int:
        """Count a text, which finds it much faster than a pattern does."""
        return self.received.count(text, self.start, self.end)

    def last(self, text: bytes) -> int:
        """Return where a text stands last, or -1; fields stand behind the messages mostly."""
        return self.received.rfind(text, self.start, self.end)

    @property
    def is_streamed(self) -> bool:
        """Whether the reply is wanted as a stream."""
        at = self.last(STREAM)
        return at >= 0 and IS_ON.match(self.received, at + len(STREAM)) is not None


def reply_to(body: Body) -> Whole | Streamed:
    """Read the question and how far the run is, and make the next reply."""
    found = QUESTION.search(body.received, body.start, body.end)
    if found is None:
        raise ValueError(f"A request of {body.end - body.start} bytes holds no question.")
    kind, number, every, seen_by = found.groups()
    if kind == b"Say" and body.is_streamed:
        seen = int(seen_by) if seen_by else None
        every_seconds = int(every or 0) / 1_000
        answer = Answer(pieces=int(number), every=every_seconds, seen_by=seen)
        return Streamed(_events(answer.texts()), answer.every)
    text, call = _move(body, int(number) if kind == b"Go" else 0)
    if body.is_streamed:
        return Streamed(_events(iter([text]), call), 0)
    return Whole(_completion(text, call))


def _move(body: Body, length: int) -> tuple[str, Call | None]:
    """Return what a run of this length needs next: a text, or a call."""
    done = body.count(RESULT)
    is_over = done >= length
    if body.last(TOOLS) < 0:
        ends = ANSWER if not length else OUR_ANSWER
        return (ends if is_over else _call_as_text(done)), None
    if not is_over:
        return "", Call("look", json.dumps({"number": done}), f"call_{done}")
    return ("", ANSWER_CALL) if body.last(FINAL_ANSWER) >= 0 else (ANSWER, None)


def _call_as_text(number: int) -> str:
    return json.dumps({"type": "tool_call", "tool": "look", "args": {"number": number}})


@cache
def _completion(text: str, call: Call | None) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if call:
        message["tool_calls"] = [_on_the_wire(call)]
    choice = {"index": 0, "message": message, "finish_reason": _reason(call)}
    return json.dumps({**_frame("chat.completion"), "choices": [choice], "usage": USAGE}).encode()


def _on_the_wire(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.args}
    return {"id": call.id, "type": "function", "function": function}


def _reason(call: Call | None) -> str:
    return "tool_calls" if call else "stop"


def _events(texts: Iterator[str], call: Call | None = None) -> Iterator[bytes]:
    """Yield a stream's events: the pieces or the call, the end, the usage."""
    for text in texts:
        if text:
            # Pieces are ASCII without quotes, so they need no encoder.
            yield _TEXT_EVENT % text.encode()
    if call:
        yield _event({"tool_calls": [{"index": 0, **_on_the_wire(call)}]})
    yield _event({}, _reason(call)) + _USAGE_EVENT + b"data: [DONE]\n\n"


def _event(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}
    data = {**_frame("chat.completion.chunk"), "choices": [choice]}
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _frame(kind: str) -> dict[str, Any]:
    return {"id": "reply", "object": kind, "created": 1, "model": MODEL}


_TEXT_EVENT = _event({"content": "%s"})
_USAGE_EVENT = (
    b"data: "
    + json.dumps({**_frame("chat.completion.chunk"), "choices": [], "usage": USAGE}).encode()
    + b"\n\n"
)
