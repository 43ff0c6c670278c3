"""Reads the actions that a JSON-mode reply holds, in any of the usual spellings."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage

from graph_agent.json_text import find_objects
from graph_agent.models.reply import read_arguments
from graph_agent.plain_text import cleaned
from graph_agent.protocols.native_form import was_cut_off

FINAL = "final_answer"
NAME_KEYS = ("tool", "name", "action")
ARGUMENT_KEYS = ("args", "arguments", "parameters", "input", "action_input")
BARE_KEYS = {*NAME_KEYS, "reasoning"}
"""Of an object that has no more keys than these the name is a call; else it may be data."""


class UnreadableError(ValueError):
    """The reply holds no action; the text says what was wrong, for the model to read."""


@dataclass(frozen=True, kw_only=True)
class Action:
    """One call, as the model spelled it."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Actions:
    """What a reply asks for: calls in order, or else an answer."""

    calls: Sequence[Action]
    answer: str
    reasoning: str


def read_actions(reply: AIMessage) -> Actions:
    """Take every action of a reply; where there are calls, an answer beside them waits.

    Raises:
        UnreadableError: There is none, or the reply was cut off.
    """
    if was_cut_off(reply):
        raise UnreadableError("it was cut off by the output limit; write less")
    found = cleaned(find_objects(reply.text))
    if not found:
        raise UnreadableError("it holds no JSON object")
    calls = [call for item in found for call in _calls(item)]
    answers = [answer for item in found for answer in _answers(item)]
    if not calls and not answers:
        raise UnreadableError("its JSON object is neither a tool_call nor a final_answer")
    reasons = (_text(item["reasoning"]) for item in found if item.get("reasoning"))
    return Actions(calls=calls, answer="" if calls else answers[-1], reasoning=next(reasons, ""))


def _answers(item: dict[str, Any]) -> Iterator[str]:
    """Yield the answer that an object holds, if it holds one."""
    if FINAL in (item.get("type"), _name(item)):
        value = item.get("answer", _answer_within(_arguments(item)))
    elif _name(item) is None and set(item) <= {"answer", "reasoning", "final", FINAL}:
        value = item.get("answer", item.get("final", item.get(FINAL)))
    else:
        value = None
    if value is not None:
        yield _text(value)


def _answer_within(arguments: object) -> object:
    try:
        return read_arguments(arguments).get("answer")
    except ValueError:
        return arguments


def _calls(item: dict[str, Any]) -> Iterator[Action]:
    """Yield the call that an object holds, if it holds one."""
    name = _name(item)
    if name is None or FINAL in (item.get("type"), name) or not _is_call(item):
        return
    try:
        args = read_arguments(_arguments(item))
    except ValueError as error:
        raise UnreadableError(f"the arguments of `{name}` are no JSON object") from error
    yield Action(tool=name, args=args)


def _is_call(item: dict[str, Any]) -> bool:
    said = item.get("type") in ("tool_call", "function")
    return said or any(key in item for key in ARGUMENT_KEYS) or set(item) <= BARE_KEYS


def _name(item: dict[str, Any]) -> str | None:
    value = next((item[key] for key in NAME_KEYS if isinstance(item.get(key), str)), None)
    return value or None


def _arguments(item: dict[str, Any]) -> object:
    return next((item[key] for key in ARGUMENT_KEYS if key in item), None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
