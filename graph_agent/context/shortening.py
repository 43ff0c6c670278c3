"""Shortens a message that takes more than its cap, to head and tail with a mark between them."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage

from graph_agent.context.tokens import message_tokens, text_tokens
from graph_agent.message_cache import PerMessage
from graph_agent.prompts import TRIMMED

MARKER_TOKENS = 16
"""Tokens kept free for the mark."""
KEPT_STRING = 60
"""Characters of an argument that is never cut: names and paths say what a call was for."""
REST = "shortened"
"""Key of arguments that are long without a long text in them."""


def clipped(message: BaseMessage, cap: int) -> BaseMessage:
    """Return the message, or a copy that keeps head and tail where it takes over `cap` tokens.

    Text is cut first, then the arguments of calls. Images stay.
    """
    if message_tokens(message) <= cap:
        return message
    known = _SHORT(message)
    if cap not in known:
        known[cap] = _shorten(message, cap)
    return known[cap] or message


_SHORT: Final = PerMessage[dict[int, BaseMessage | None]](lambda _: {})
"""Shortened copies by cap, so that the same copy is shown (and encoded) each time."""


def _shorten(message: BaseMessage, cap: int) -> BaseMessage | None:
    """Return a copy that fits the cap as far as cutting can; None: nothing to gain."""
    text, tokens = message.text, text_tokens(message.text)
    update: dict[str, Any] = {}
    if tokens > MARKER_TOKENS:
        room = max(0, cap - (message_tokens(message) - tokens))
        update["content"] = _content(message, head_and_tail(text, room))
    short = message.model_copy(update=update)
    if isinstance(short, AIMessage) and message_tokens(short) > cap:
        update["tool_calls"] = _short_calls(short, cap)
        short = message.model_copy(update=update)
    return short if message_tokens(short) < message_tokens(message) else None


def fitted(text: str, room: int) -> str:
    """Return the text, or its head and tail where it takes over `room` tokens."""
    return text if text_tokens(text) <= room else head_and_tail(text, room)


def head_and_tail(text: str, room: int) -> str:
    """Keep as much of head and tail, in equal parts, as takes at most `room` tokens."""
    tokens, room = text_tokens(text), max(0, room - MARKER_TOKENS)
    half = int(len(text) * min(1, room / tokens)) // 2
    while half and text_tokens(text[:half] + text[-half:]) > room:
        half = half * 9 // 10
    head, tail = text[:half], text[len(text) - half :]
    return f"{head}\n{TRIMMED.format(tokens=tokens - text_tokens(head + tail))}\n{tail}"


def _content(message: BaseMessage, text: str) -> str | list[str | dict[Any, Any]]:
    if isinstance(message.content, str):
        return text
    blocks = (block for block in message.content if isinstance(block, dict))
    return [{"type": "text", "text": text}, *(b for b in blocks if b.get("type") != "text")]


def _short_calls(message: AIMessage, cap: int) -> list[Any]:
    """Give each call an equal share of what the arguments may take; shorter ones stay as is."""
    empty = [{**call, "args": {}} for call in message.tool_calls]
    left = cap - message_tokens(message.model_copy(update={"tool_calls": empty}))
    share = max(0, left) // max(1, len(message.tool_calls))
    return [{**call, "args": _short_arguments(call["args"], share)} for call in message.tool_calls]


def _short_arguments(args: dict[str, Any], room: int) -> dict[str, Any]:
    written = _json(args)
    tokens = text_tokens(written)
    if tokens <= max(room, 2 * MARKER_TOKENS):
        return args
    texts = list(_long_texts(args))
    rest = tokens - sum(map(text_tokens, texts))
    each = (room - rest) // max(1, len(texts))
    if texts and each > MARKER_TOKENS:
        return dict(_mapped(args, lambda text: head_and_tail(text, each)))
    return {REST: head_and_tail(written, room)}


def _long_texts(value: Any) -> Iterator[str]:
    match value:
        case str() if len(value) > KEPT_STRING:
            yield value
        case list():
            for item in value:
                yield from _long_texts(item)
        case dict():
            yield from _long_texts([*value.values()])


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Return the value with each long text in it changed."""
    match value:
        case str() if len(value) > KEPT_STRING:
            return change(value)
        case list():
            return [_mapped(item, change) for item in value]
        case dict():
            return {key: _mapped(item, change) for key, item in value.items()}
    return value


def _json(data: object) -> str:
    # Arguments may hold integers that orjson refuses.
    return json.dumps(data, ensure_ascii=False, default=str)
