"""Spells one message as an endpoint takes it: plain JSON data."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_data_block,
    is_data_content_block,
)

from graph_agent.models.wire_rules import WireRules
from graph_agent.prompts import IMAGE_LEFT_OUT

FILLER = "…"
"""The text of a message that has none, where an endpoint insists on one."""
SHORT_ID = 9
"""Letters and digits of a short call id."""


def to_wire(message: BaseMessage, rules: WireRules | None = None) -> dict[str, Any]:
    """Return a message as an endpoint takes it.

    Raises:
        TypeError: The message is of a kind that no endpoint takes.
    """
    rules = rules or WireRules()
    match message:
        case SystemMessage():
            return {"role": "system", "content": message.text}
        case HumanMessage():
            return {"role": "user", "content": _filled(_content(message, rules), rules)}
        case ToolMessage():
            return {
                "role": "tool",
                "tool_call_id": _call_id(message.tool_call_id, rules),
                "content": _filled(message.text, rules),
            }
        case AIMessage():
            return _assistant(message, rules)
    raise TypeError(f"A {type(message).__name__} cannot be sent to a model.")


def joined(wires: Sequence[dict[str, Any]], rules: WireRules) -> dict[str, Any]:
    """Join messages that are sent as one; nothing of them is lost."""
    role = wires[-1]["role"]
    contents = [wire["content"] for wire in wires if wire.get("content")]
    whole: dict[str, Any] = {"role": role, "content": _joined_content(contents)}
    if role == "system" and rules.system == "user":
        whole["role"] = "user"
    if reasoning := [wire[rules.reasoning_key] for wire in wires if rules.reasoning_key in wire]:
        whole[rules.reasoning_key] = "\n\n".join(filter(None, reasoning))
    if calls := [call for wire in wires for call in wire.get("tool_calls") or []]:
        whole["tool_calls"] = calls
        if not contents:
            _spell_no_text(whole, rules)
    return whole


def _joined_content(contents: Sequence[Any]) -> str | list[Any]:
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(contents)
    blocks = (c if isinstance(c, list) else [{"type": "text", "text": c}] for c in contents)
    return [block for each in blocks for block in each]


def _content(message: BaseMessage, rules: WireRules) -> str | list[Any]:
    if isinstance(message.content, str):
        return message.content
    blocks = [_block(block, rules) for block in message.content]
    if rules.content_lists:
        return blocks
    return "\n\n".join(str(block.get("text", IMAGE_LEFT_OUT)) for block in blocks)


def _block(block: str | dict[str, Any], rules: WireRules) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    wire = convert_to_openai_data_block(block) if is_data_content_block(block) else block
    if wire.get("type") == "image_url" and not rules.images:
        return {"type": "text", "text": IMAGE_LEFT_OUT}
    return wire


def _filled(content: str | list[Any], rules: WireRules) -> str | list[Any]:
    blank = isinstance(content, str) and not content.strip()
    return FILLER if blank and not rules.blank_texts else content


def _assistant(message: AIMessage, rules: WireRules) -> dict[str, Any]:
    text = message.text
    wire: dict[str, Any] = {"role": "assistant", "content": text if text.strip() else ""}
    if message.tool_calls:
        wire["tool_calls"] = [_call(call, rules) for call in message.tool_calls]
        if not wire["content"]:
            _spell_no_text(wire, rules)
    reasoning = str(message.additional_kwargs.get("reasoning_content") or "")
    if _goes_back(reasoning, rules, calls=bool(message.tool_calls)):
        wire[rules.reasoning_key] = reasoning
    return wire


def _goes_back(reasoning: str, rules: WireRules, *, calls: bool) -> bool:
    match rules.reasoning_back:
        case "calls":
            return calls and bool(reasoning)
        case "every_call":
            return calls
        case "always":
            return bool(reasoning)
    return False


def _spell_no_text(wire: dict[str, Any], rules: WireRules) -> None:
    match rules.call_without_text:
        case "null":
            wire["content"] = None
        case "absent":
            del wire["content"]
        case "filler":
            wire["content"] = FILLER


def _call(call: Mapping[str, Any], rules: WireRules) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": _arguments(call["args"])}
    return {"id": _call_id(call["id"], rules), "type": "function", "function": function}


def _call_id(given: str, rules: WireRules) -> str:
    """Return the id, or always the same short one in its place."""
    fits = len(given) == SHORT_ID and given.isascii() and given.isalnum()
    if fits or not rules.short_ids:
        return given
    return hashlib.sha256(given.encode()).hexdigest()[:SHORT_ID]


def _arguments(args: Mapping[str, Any]) -> str:
    try:
        return orjson.dumps(args).decode()
    except TypeError:
        # A model may write whole numbers beyond 64 bits, which orjson does not.
        return json.dumps(args)
