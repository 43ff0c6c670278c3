"""Reads the actions that a JSON-mode reply holds, in any of the usual spellings."""

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import orjson
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall

from graph_agent.json_text import find_objects

FINAL = "final_answer"
NAME_KEYS = ("tool", "name", "action")
ARGUMENT_KEYS = ("args", "arguments", "parameters", "input")


class UnreadableError(ValueError):
    """The reply holds no action; the text says what was wrong, for the model to read."""


@dataclass(kw_only=True)
class Actions:
    """What a reply asks for: calls in order, or else an answer."""

    calls: list[ToolCall] = field(default_factory=list)
    answer: str = ""
    reasoning: str = ""


def read_actions(reply: AIMessage) -> Actions:
    """Take every action of a reply; where there are calls, an answer beside them waits.

    Raises:
        UnreadableError: There is none, or the reply was cut off.
    """
    if reply.response_metadata.get("finish_reason") == "length":
        raise UnreadableError("it was cut off by the output limit; write less")
    found = find_objects(reply.text)
    if not found:
        raise UnreadableError("it holds no JSON object")
    actions = Actions(reasoning=_text(found[0].get("reasoning", "")))
    answers = [answer for item in found if (answer := _answer(item)) is not None]
    actions.calls = [call for item in found if (call := _call(item)) is not None]
    if not actions.calls and not answers:
        raise UnreadableError("its JSON object is neither a tool_call nor a final_answer")
    actions.answer = "" if actions.calls else answers[-1]
    return actions


def _answer(item: dict[str, Any]) -> str | None:
    if item.get("type") == FINAL or _name(item) == FINAL:
        args = _args(item)
        value = item.get("answer", args.get("answer") if isinstance(args, dict) else None)
        return None if value is None else _text(value)
    if _name(item) is None and set(item) <= {"answer", "reasoning", "final", FINAL} and item:
        return _text(item.get("answer", item.get("final", item.get(FINAL, ""))))
    return None


def _call(item: dict[str, Any]) -> ToolCall | None:
    name, args = _name(item), _args(item)
    if name is None or name == FINAL or item.get("type") == FINAL:
        return None
    if not isinstance(args, dict):
        raise UnreadableError(f"the arguments of `{name}` are no JSON object")
    return ToolCall(name=name, args=args, id=f"call_{uuid4().hex[:24]}", type="tool_call")


def _name(item: dict[str, Any]) -> str | None:
    value = next((item[key] for key in NAME_KEYS if isinstance(item.get(key), str)), None)
    return value or None


def _args(item: dict[str, Any]) -> Any:
    value = next((item[key] for key in ARGUMENT_KEYS if key in item), None)
    if isinstance(value, str) and value.strip().startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return {} if value is None else value


def _text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
