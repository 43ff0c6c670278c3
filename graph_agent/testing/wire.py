"""How a reply is spelt on the wire: one JSON body, or a stream of Server-Sent Events."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

import orjson

from graph_agent.testing.replies import Deltas, Gate, Json

CREATED = 1_700_000_000
"""Unix seconds in every reply: a fixed time keeps replies equal between runs."""

TEXT_PIECES = 4
"""Deltas that a streamed text or argument string is cut into, at most."""

DONE = b"data: [DONE]\n\n"

_MESSAGE_KEYS = frozenset(
    {"role", "content", "reasoning_content", "reasoning", "refusal", "tool_calls"}
)
_REPLY_KEYS = _MESSAGE_KEYS | {"finish_reason", "usage"}


def assistant_message(reply: str | Mapping[str, Any], number: int = 0) -> Json:
    """Spell a scripted reply as OpenAI's assistant message.

    Args:
        reply: A text, or a message whose calls may be short.
        number: The reply's own, for the ids of calls that have none.

    Raises:
        ValueError: The reply has a key that no assistant message has.
    """
    if isinstance(reply, str):
        return {"role": "assistant", "content": reply}
    if unknown := sorted(reply.keys() - _REPLY_KEYS):
        raise ValueError(f"A scripted message cannot have {unknown}; known: {sorted(_REPLY_KEYS)}.")
    message = {"role": "assistant", "content": None} | {
        key: value for key, value in reply.items() if key in _MESSAGE_KEYS
    }
    if "tool_calls" in reply:
        message["tool_calls"] = [
            _tool_call(call, f"call_{number}_{index}")
            for index, call in enumerate(reply["tool_calls"])
        ]
    return message


def completion(body: Json, message: Json, finish_reason: str | None, usage: Json | None) -> bytes:
    """Render a non-streamed response."""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}
    response = _envelope(body, "chat.completion") | {"choices": [choice]}
    return orjson.dumps(response if usage is None else response | {"usage": usage})


def message_deltas(message: Json) -> list[Json]:
    """Cut a message into the deltas a server would stream: reasoning, text, then calls."""
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    for key in ("reasoning_content", "reasoning", "content", "refusal"):
        deltas += [{key: piece} for piece in _pieces(message.get(key))]
    for index, call in enumerate(message.get("tool_calls") or []):
        deltas += [{"tool_calls": [part]} for part in _call_parts(index, call)]
    return deltas


def chunks(body: Json, reply: Deltas, usage: Json | None) -> Iterator[Json | Gate]:
    """Wrap the deltas of a stream into chunks; gates pass through.

    Args:
        body: The request, for the model's name and `stream_options`.
        reply: What to stream.
        usage: Token counts for a last chunk; None: no such chunk.
    """
    envelope = _envelope(body, "chat.completion.chunk")
    if usage is not None:
        envelope["usage"] = None
    for item in reply.deltas:
        yield item if isinstance(item, Gate) else _chunk(envelope, item)
    if (finish_reason := finish_reason_of(reply)) and not _finishes(reply.deltas):
        yield _chunk(envelope, {"finish_reason": finish_reason})
    if usage is not None:
        yield envelope | {"choices": [], "usage": usage}


def frame(chunk: Json) -> bytes:
    """Render one chunk as a Server-Sent Event."""
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def sse_bytes(reply: Deltas) -> bytes:
    """Render a whole stream, for `RawBytes`; gates and intervals are left out."""
    items = [item for item in chunks({}, reply, None) if not isinstance(item, Gate)]
    return b"".join(frame(item) for item in items) + (DONE if reply.done else b"")


def finish_reason_of(reply: Deltas) -> str | None:
    """Say how a stream ends, where "auto" leaves it open."""
    if reply.finish_reason != "auto":
        return reply.finish_reason
    return "tool_calls" if merged(reply.deltas).get("tool_calls") else "stop"


def merged(deltas: Sequence[Json | Gate]) -> Json:
    """Put deltas together into the message that they mean.

    A call goes on while its `index` stays and no other `id` appears; a repeated name is one name.
    """
    message: Json = {"role": "assistant", "content": None}
    calls: list[Json] = []
    for delta in map(_delta, deltas):
        for key in ("content", "reasoning_content", "reasoning", "refusal"):
            if isinstance(text := delta.get(key), str):
                message[key] = (message.get(key) or "") + text
            elif text is not None:
                message[key] = text
        for part in delta.get("tool_calls") or []:
            _add_call_part(calls, part)
    if calls:
        message["tool_calls"] = [
            {key: value for key, value in call.items() if key != "index"} for call in calls
        ]
    return message


def _envelope(body: Json, kind: str) -> Json:
    return {
        "id": "chatcmpl-fake",
        "object": kind,
        "created": CREATED,
        "model": body.get("model", "fake"),
    }


def _tool_call(call: Mapping[str, Any], default_id: str) -> Json:
    if "function" in call:
        return dict(call)
    arguments = call.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = orjson.dumps(arguments).decode()
    return {
        "id": call.get("id", default_id),
        "type": "function",
        "function": {"name": call["name"], "arguments": arguments},
    }


def _pieces(value: object) -> list[Any]:
    if not isinstance(value, str):
        return [] if value is None else [value]
    size = max(1, ceil(len(value) / TEXT_PIECES))
    return [value[start : start + size] for start in range(0, len(value), size)]


def _call_parts(index: int, call: Json) -> Iterator[Json]:
    function = call["function"]
    first, *rest = _pieces(function["arguments"]) or [""]
    yield {"index": index} | call | {"function": function | {"arguments": first}}
    for piece in rest:
        yield {"index": index, "function": {"arguments": piece}}


def _chunk(envelope: Json, item: Json) -> Json:
    if "error" in item:
        return item
    if "choices" in item:
        return envelope | item
    delta = {key: value for key, value in item.items() if key != "finish_reason"}
    if calls := delta.get("tool_calls"):
        delta["tool_calls"] = [_full_part(part) for part in calls]
    choice = {"index": 0, "delta": delta, "finish_reason": item.get("finish_reason")}
    return envelope | {"choices": [choice]}


def _full_part(part: Json) -> Json:
    """Nest a short call part, `{"index", "id", "name", "arguments"}`, as OpenAI does."""
    function = {key: part[key] for key in ("name", "arguments") if key in part}
    outer = {key: value for key, value in part.items() if key not in function}
    if "id" in outer:
        outer.setdefault("type", "function")
    return outer | {"function": function} if function else outer


def _delta(item: Json | Gate) -> Json:
    if isinstance(item, Gate):
        return {}
    if "choices" not in item:
        return item
    delta: Json = item["choices"][0].get("delta", {}) if item["choices"] else {}
    return delta


def _finishes(deltas: Sequence[Json | Gate]) -> bool:
    items = [item for item in deltas if not isinstance(item, Gate)]
    choices = [choice for item in items for choice in item.get("choices", [])]
    return any(part.get("finish_reason") for part in [*items, *choices])


def _add_call_part(calls: list[Json], part: Json) -> None:
    part = _full_part(part)
    index, call_id = part.get("index"), part.get("id")
    named = part.get("function", {}).get("name")
    call = next((call for call in reversed(calls) if call["index"] == index), None)
    new_id = call is not None and call_id is not None and call_id != call["id"]
    if call is None or new_id or (index is None and call_id is None and named):
        calls.append({"index": index, "id": call_id, "type": "function", "function": {}})
        call = calls[-1]
    function = call["function"]
    function["name"] = function.get("name") or named
    function["arguments"] = function.get("arguments", "") + part.get("function", {}).get(
        "arguments", ""
    )
