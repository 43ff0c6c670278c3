"""Reads what OpenAI-compatible endpoints answer: whole replies, calls, usage."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, InvalidToolCall
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCall, invalid_tool_call, tool_call

from graph_agent.errors import ModelError
from graph_agent.models.reasoning import (
    STRAY_CLOSING,
    reasoning_field,
    split_content,
    split_text,
)

UNREADABLE_AT = "unreadable_at"
"""Key in a reply's metadata: the places, among all its calls, of those that cannot be read."""


def parsed(content: bytes) -> object:
    """Read the body of an answer: JSON, or else text."""
    try:
        body: object = json.loads(content)
    except ValueError:
        return content.decode(errors="replace")
    return body


def read_reply(body: object) -> AIMessage:
    """Turn a chat completion into a message.

    Calls whose arguments are no JSON object land in `invalid_tool_calls` as they came.

    Raises:
        ModelError: The body is no chat completion.
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not choices:
        raise ModelError(f"The endpoint answered without a choice: {str(body)[:300]}")
    message = choices[0].get("message") or {}
    raw_calls = message.get("tool_calls") or []
    calls, invalid = read_calls(raw_calls)
    content = split_content(message.get("content") or message.get("refusal") or "")
    said = split_text(content.text)
    thoughts = (reasoning_field(message), content.reasoning, said.reasoning)
    reasoning = "\n".join(filter(None, thoughts))
    return AIMessage(
        content=said.text,
        tool_calls=calls,
        invalid_tool_calls=invalid,
        additional_kwargs={"reasoning_content": reasoning} if reasoning else {},
        usage_metadata=read_usage(body.get("usage")),
        response_metadata={
            "finish_reason": choices[0].get("finish_reason"),
            **(unreadable_places(raw_calls) if invalid else {}),
        },
        id=f"run-{uuid4()}",
    )


def began_thinking(body: object) -> bool:
    """Tell whether a reply began inside a think block, of which only the end was sent."""
    choices = body.get("choices") if isinstance(body, dict) else None
    content = (choices[0].get("message") or {}).get("content") if choices else None
    return isinstance(content, str) and STRAY_CLOSING.match(content) is not None


def read_usage(usage: Mapping[str, Any] | None) -> UsageMetadata | None:
    """Translate the endpoint's count of tokens; None stays None."""
    if not usage:
        return None
    prompt, completion = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return UsageMetadata(
        input_tokens=prompt,
        output_tokens=completion,
        total_tokens=prompt + completion,
        input_token_details={"cache_read": cached},
    )


def read_calls(
    raw_calls: Sequence[Mapping[str, Any]],
) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """Read the calls of a reply; those that cannot be read come second, as they came."""
    read = [_read_call(raw) for raw in raw_calls]
    calls = [call for call in read if call["type"] == "tool_call"]
    return calls, [call for call in read if call["type"] == "invalid_tool_call"]


def unreadable_places(raw_calls: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Return what a message's metadata must hold besides, so that the order of calls is known."""
    invalid = [_read_call(raw)["type"] == "invalid_tool_call" for raw in raw_calls]
    mixed = any(invalid) and not all(invalid)
    return {UNREADABLE_AT: [place for place, is_so in enumerate(invalid) if is_so]} if mixed else {}


def in_order(reply: AIMessage) -> list[ToolCall | InvalidToolCall]:
    """Return a reply's calls as the model wrote them, those among them that cannot be read.

    Of other providers' messages the order is not known: these come last.
    """
    calls: list[ToolCall | InvalidToolCall] = list(reply.tool_calls)
    places = reply.response_metadata.get(UNREADABLE_AT) or []
    for number, call in enumerate(reply.invalid_tool_calls):
        calls.insert(places[number] if number < len(places) else len(calls), call)
    return calls


def _read_call(raw: Mapping[str, Any]) -> ToolCall | InvalidToolCall:
    function = raw.get("function") or {}
    name, arguments = str(function.get("name") or ""), function.get("arguments")
    call_id = raw.get("id") or f"call_{uuid4().hex[:24]}"
    try:
        args = read_arguments(arguments)
    except ValueError as fault:
        return invalid_tool_call(name=name, args=str(arguments), id=call_id, error=str(fault))
    return tool_call(name=name, args=args, id=call_id)


def read_arguments(arguments: object) -> dict[str, Any]:
    """Read a call's arguments strictly; blank and null mean none.

    Raises:
        ValueError: They are no JSON object.
    """
    if isinstance(arguments, str):
        # Raw line breaks inside strings are common and lose nothing: strict=False takes them.
        try:
            arguments = json.loads(arguments, strict=False) if arguments.strip() else None
        except RecursionError:
            raise ValueError("the arguments are nested too deep") from None
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments must be a JSON object, not {type(arguments).__name__}")
    return arguments
