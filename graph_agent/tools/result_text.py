"""Puts what a tool returned into text that a model can read."""

import json
from typing import Any

import orjson
from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolOutputMixin
from langgraph.types import Command

from graph_agent.plain_text import cleaned, plain_text

NO_OUTPUT = "(no output)"
BLOCKS = {"text": "text", "image_url": "image_url", "image": "type"}
"""Kinds of content blocks, and the key that each must have: data may have a `type` too."""


def readable(result: object) -> Any:
    """Return content blocks as they are, of a message what is kept, and everything else as text."""
    match result:
        case ToolMessage():
            kept = {"status": result.status, "artifact": plain_data(result.artifact)}
            return ToolMessage(result.content, tool_call_id=result.tool_call_id, **kept)
        case Command(update={"messages": [*messages]}):
            # The rest of a command has no meaning here.
            return next((readable(m) for m in messages if isinstance(m, ToolMessage)), result)
        case ToolOutputMixin():
            return result
    return result if _is_blocks(result) else result_text(result)


def result_text(result: object) -> str:
    """Return text as it is, data as JSON, and words for nothing.

    >>> result_text({"city": "서울"}), result_text(None), result_text(3)
    ('{"city":"서울"}', '(no output)', '3')
    """
    if isinstance(result, bytes | bytearray):
        result = _decoded(bytes(result))
    if result is None or (isinstance(result, str) and not result):
        return NO_OUTPUT
    if isinstance(result, str | float):
        return plain_text(str(result))
    return plain_text(_json(result))


def plain_block(block: str | dict[str, Any]) -> str | dict[str, Any]:
    """Return a content block with what can be stored and sent; of a text, no more than the text."""
    if isinstance(block, str):
        return plain_text(block)
    if block.get("type") == "text":
        return {"type": "text", "text": plain_text(str(block.get("text", "")))}
    plain = plain_data(block)
    return plain if isinstance(plain, dict) else {"type": "text", "text": result_text(block)}


def plain_data(value: object) -> Any:
    """Return a value as plain data, or None where it has no such form; bytes stay bytes."""
    if isinstance(value, bytes):
        return value
    try:
        written = orjson.dumps(cleaned(value), default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError):
        return None
    return orjson.loads(written)


def _json(data: object) -> str:
    try:
        text = orjson.dumps(data, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return _lenient_json(data)
    # A date, a path and the like become a JSON string: as a whole result they are text.
    return str(orjson.loads(text)) if text.startswith(b'"') else text.decode()


def _lenient_json(data: object) -> str:
    """Write what orjson refuses: numbers beyond 64 bits, lone surrogates, keys of any kind."""
    try:
        return json.dumps(data, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError):
        return str(data)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return _decoded(value) if isinstance(value, bytes) else str(value)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"({len(data)} bytes that are no text)"


def _is_blocks(result: object) -> bool:
    return isinstance(result, list) and bool(result) and all(map(_is_block, result))


def _is_block(item: object) -> bool:
    return isinstance(item, dict) and BLOCKS.get(item.get("type", ""), "") in item
