"""Keeps what a model thinks apart from what it says, however the endpoint spells it."""

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk

from graph_agent.models.think_splitter import TAGS, Parts, ThinkSplitter

STRAY_CLOSING = re.compile(
    rf"\A(?!\s*[{{\[`<])(?P<thought>.*?)\n[ \t]*</({'|'.join(TAGS)})>[ \t]*(\n|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""A closing tag on a line of its own: the chat template had opened the block in the prompt."""
PAYLOAD = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
MOST_PAYLOADS = 20
"""Places in an unclosed think block at which its payload is looked for."""
FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
"""Where endpoints put the reasoning; the first that holds text is taken."""
INNER_FIELDS = ("thinking", "reasoning", "text", "summary", "content")
"""Where a block of reasoning keeps its text."""


def split_text(text: str) -> Parts:
    """Take the think blocks at the front of a whole text off.

    An unclosed block ends where a JSON object begins that is the rest of the text: models forget
    the tag before they act. Without such an object all of it is reasoning.
    """
    splitter = ThinkSplitter()
    before, rest = splitter.feed(text), splitter.end()
    reasoning, said = before.reasoning + rest.reasoning, before.text + rest.text
    if splitter.open:
        at = _payload_start(reasoning)
        reasoning, said = reasoning[:at], reasoning[at:]
    elif stray := STRAY_CLOSING.match(said):
        reasoning, said = stray["thought"], said[stray.end() :].lstrip()
    return Parts(reasoning.strip(), said)


def split_content(content: object) -> Parts:
    """Take content apart that is a text, or a list of blocks, without looking for tags."""
    if isinstance(content, str):
        return Parts("", content)
    blocks = content if isinstance(content, list) else []
    thinks = [isinstance(b, Mapping) and _is_reasoning(b) for b in blocks]
    return Parts(
        "".join(_said(b) for b, is_thought in zip(blocks, thinks, strict=True) if is_thought),
        "".join(_said(b) for b, is_thought in zip(blocks, thinks, strict=True) if not is_thought),
    )


def reasoning_field(message: Mapping[str, Any]) -> str:
    """Return the reasoning that a message or a delta carries beside its content."""
    return next(filter(None, (_said(message.get(field)) for field in FIELDS)), "")


def only_reasoning(message: AIMessage) -> bool:
    """Tell a reply that thought, and then neither said nor called anything."""
    calls = message.tool_calls or message.invalid_tool_calls
    return bool(_reasoning_of(message)) and not calls and not message.text.strip()


def with_reasoning_apart(message: AIMessage) -> AIMessage:
    """Return the message with its thinking in `additional_kwargs["reasoning_content"]`.

    For messages of any provider; one that holds no thinking is returned as it is.
    """
    blocks = split_content(message.content)
    parts = split_text(blocks.text)
    inner = "\n".join(filter(None, (blocks.reasoning, parts.reasoning)))
    if not inner and parts.text == blocks.text:
        return message
    reasoning = "\n".join(filter(None, (_reasoning_of(message), inner)))
    kept = message.additional_kwargs | ({"reasoning_content": reasoning} if reasoning else {})
    return message.model_copy(update={"content": parts.text, "additional_kwargs": kept})


async def pieces_apart(
    pieces: AsyncGenerator[AIMessageChunk, None],
) -> AsyncGenerator[AIMessageChunk, None]:
    """Do the same for a stream of any provider; closing this closes the stream."""
    splitter = ThinkSplitter()
    async with aclosing(pieces):
        async for piece in pieces:
            blocks = split_content(piece.content)
            parts = splitter.feed(blocks.text)
            yield _piece_apart(piece, blocks.reasoning + parts.reasoning, parts.text)
    if any(rest := splitter.end()):
        yield _piece_apart(AIMessageChunk(content=""), *rest)


def _piece_apart(piece: AIMessageChunk, reasoning: str, text: str) -> AIMessageChunk:
    if not reasoning and text == piece.content:
        return piece
    beside = str(piece.additional_kwargs.get("reasoning_content") or "") + reasoning
    kept = piece.additional_kwargs | ({"reasoning_content": beside} if beside else {})
    return piece.model_copy(update={"content": text, "additional_kwargs": kept})


def _reasoning_of(message: AIMessage) -> str:
    return str(message.additional_kwargs.get("reasoning_content") or "").strip()


def _is_reasoning(block: Mapping[str, Any]) -> bool:
    return str(block.get("type", "")).startswith(("thinking", "reasoning"))


def _said(value: object) -> str:
    """Return the text within a text, a block, or a list of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_said, value))
    if isinstance(value, Mapping):
        return next(filter(None, (_said(value.get(field)) for field in INNER_FIELDS)), "")
    return ""


def _payload_start(text: str) -> int:
    starts = [found.end() for found in PAYLOAD.finditer(text)]
    for start in starts[-MOST_PAYLOADS:]:
        try:
            json.loads(text[start:], strict=False)
        except ValueError:
            continue
        return start
    return len(text)
