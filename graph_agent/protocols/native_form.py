"""Puts what a model said into the form that a thread keeps, whatever the protocol."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall

from graph_agent.json_text import nested_too_deep, scan
from graph_agent.models.reply import read_arguments
from graph_agent.plain_text import cleaned, plain_text
from graph_agent.tools.registry import ToolRegistry

CUT_OFF_REASONS = {"length", "max_tokens", "MAX_TOKENS"}
"""How endpoints say that a reply reached the limit of its length."""
AROUND = " \t\r\n`"
"""What may stand around arguments: blanks, and a code fence."""


def was_cut_off(reply: AIMessage) -> bool:
    """Tell whether a reply ended at the output limit, in the words of any provider."""
    told = reply.response_metadata
    reasons = (told.get(key) for key in ("finish_reason", "stop_reason", "done_reason"))
    return any(reason in CUT_OFF_REASONS for reason in reasons)


def reasoning_of(message: AIMessage) -> str:
    """Return what the model says about its move: its reasoning, else its text beside calls."""
    return _thoughts(message) or (message.text if message.tool_calls else "")


def kept_message(
    reply: AIMessage, text: str, calls: Sequence[ToolCall] = (), **kept: Any
) -> AIMessage:
    """Return a reply as the thread keeps it.

    Args:
        reply: As the endpoint gave it; its id, usage and reasoning are kept.
        text: What it says.
        calls: What it calls.
        kept: What else is kept, in `additional_kwargs`.
    """
    thoughts = _thoughts(reply)
    return AIMessage(
        content=plain_text(text),
        id=reply.id or f"run-{uuid4()}",
        tool_calls=list(calls),
        usage_metadata=reply.usage_metadata,
        additional_kwargs=({"reasoning_content": thoughts} if thoughts else {}) | kept,
    )


def kept_call(
    name: str,
    args: dict[str, Any],
    tools: ToolRegistry,
    *,
    call_id: str | None = None,
) -> ToolCall:
    """Return a call as the thread keeps it, and as every endpoint takes it back.

    Args:
        name: The tool's name as the model spelled it.
        args: The arguments as they were read.
        tools: What there is, for the spelling.
        call_id: The id that the endpoint gave; it gets one of ours where that is none, or another
            call's: some servers repeat theirs.
    """
    kept_id = call_id or f"call_{uuid4().hex[:24]}"
    return ToolCall(name=tools.spelled(name), args=cleaned(args), id=kept_id, type="tool_call")


def call_arguments(raw: object) -> dict[str, Any]:
    r"""Read a call's arguments: strictly, else decoded once more, else mended without a guess.

    >>> call_arguments('{"a": [1, 2,],}'), call_arguments('"{\\"a\\": 1}"')
    ({'a': [1, 2]}, {'a': 1})

    Raises:
        ValueError: They are no JSON object, were cut off, or are nested beyond all use.
    """
    try:
        args = _read(raw)
        if nested_too_deep(args):
            raise RecursionError
    except RecursionError:
        raise ValueError("they are nested too deep") from None
    return args


def _read(raw: object) -> dict[str, Any]:
    try:
        return read_arguments(raw)
    except ValueError as fault:
        return _mended(raw, fault)


def _mended(raw: object, fault: ValueError) -> dict[str, Any]:
    """Read arguments that are no JSON object, or raise what is wrong with them as they are."""
    if not isinstance(raw, str):
        raise fault
    try:
        decoded = json.loads(raw, strict=False)
    except ValueError:
        return _mended_object(raw.strip(AROUND).removeprefix("json").strip(), fault)
    if not isinstance(decoded, str):
        raise fault
    try:
        return read_arguments(decoded)
    except ValueError:
        return _mended_object(decoded.strip(), fault)


def _mended_object(text: str, fault: ValueError) -> dict[str, Any]:
    found = [item for item in scan(text) if (item.start, item.end) == (0, len(text))]
    if len(found) != 1 or not found[0].sound:
        raise fault
    return found[0].data


def _thoughts(message: AIMessage) -> str:
    return plain_text(str(message.additional_kwargs.get("reasoning_content") or ""))
