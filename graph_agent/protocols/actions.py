"""Reads the actions that a JSON-mode reply holds, in any of the usual spellings."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage

from graph_agent.json_text import MOST_OBJECTS
from graph_agent.plain_text import cleaned
from graph_agent.protocols.native_form import call_arguments, was_cut_off
from graph_agent.protocols.spellings import spelled

FINAL = "final_answer"
NAME_KEYS = ("tool", "name", "action")
ARGUMENT_KEYS = ("args", "arguments", "parameters", "input", "action_input")
CALLS_OWN_KEYS = ("args", "arguments", "action_input")
"""Those that no data have."""
WRAPPERS = ("tool_calls", "function", "function_call", "tool_call")
"""Keys below which providers' APIs put a call."""
BARE_KEYS = {*NAME_KEYS, "reasoning"}
"""Of an object that has no more keys than these the name is a call; else it may be data."""
CALL_KEYS = {*NAME_KEYS, *ARGUMENT_KEYS, "type", "id", "call_id", "index", "reasoning", "thought"}
"""All keys that calls have; an object with others may be data."""
TOO_MANY = f"it holds more than {MOST_OBJECTS:,} JSON objects; write only what comes next"
CALL_TYPES = ("tool_call", "function", "tool_use", "function_call")


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
        UnreadableError: There is none, the reply or one of its actions was cut off, or it holds
            more objects than anyone means.
    """
    if was_cut_off(reply):
        raise UnreadableError("it was cut off by the output limit; write less")
    items = spelled(reply.text)
    if len(items) > MOST_OBJECTS:
        raise UnreadableError(TOO_MANY)
    found = [(cleaned(item.data), item.sound) for item in items]
    if not found:
        raise UnreadableError("it holds no JSON object")
    calls = [(call, sound) for data, sound in found for call in calls_in(data)]
    answers = [(answer, sound) for data, sound in found for answer in answers_in(data)]
    taken = calls or answers[-1:]
    if not taken:
        raise UnreadableError("its JSON object is neither a tool_call nor a final_answer")
    if not all(sound for _, sound in taken):
        raise UnreadableError("its JSON is broken or ends too early")
    reasons = (_text(data["reasoning"]) for data, _ in found if data.get("reasoning"))
    return Actions(
        calls=[call for call, _ in calls],
        answer="" if calls else answers[-1][0],
        reasoning=next(reasons, ""),
    )


def calls_in(data: dict[str, Any]) -> Iterator[Action]:
    """Yield the calls that an object holds.

    Raises:
        UnreadableError: The arguments of one are no object.
    """
    for call in _unwrapped(data):
        name = _name(call)
        if name is None or _is_final(call) or not _is_call(call):
            continue
        try:
            args = call_arguments(_arguments(call))
        except ValueError as error:
            raise UnreadableError(f"the arguments of `{name}` are no JSON object") from error
        yield Action(tool=name, args=args)


def answers_in(data: dict[str, Any]) -> Iterator[str]:
    """Yield the answer that an object holds, if it holds one."""
    if _is_final(data):
        value = data.get("answer", _answer_within(_arguments(data)))
    elif _name(data) is None and set(data) <= {"answer", "reasoning", "final", FINAL}:
        value = data.get("answer", data.get("final", data.get(FINAL)))
    else:
        value = None
    if value is not None:
        yield _text(value)


def is_only_an_action(data: dict[str, Any]) -> bool:
    """Tell whether an object is a call or a final answer, and cannot be data.

    >>> is_only_an_action({"name": "Bob", "age": 3}), is_only_an_action({"name": "a", "args": {}})
    (False, True)
    """
    return _is_final(data) or any(
        _name(call) and CALL_KEYS.issuperset(call) and (_says_so(call) or _holds_arguments(call))
        for call in _unwrapped(data)
    )


def may_become_an_action(data: dict[str, Any]) -> bool:
    """Tell whether an object that breaks off began as an action; its last key may be cut as well.

    >>> may_become_an_action({"tool": "add", "ar": ""}), may_become_an_action({"age": 3})
    (True, False)
    """
    *whole, last = data or [""]
    return CALL_KEYS.issuperset(whole) and any(key.startswith(last) for key in CALL_KEYS)


def says_its_type(data: dict[str, Any]) -> bool:
    """Tell whether an object is an action in the form that JSON mode asks for."""
    return data.get("type") in ("tool_call", FINAL)


def _unwrapped(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    inner = next((data[key] for key in WRAPPERS if isinstance(data.get(key), dict | list)), None)
    if inner is None:
        yield data
        return
    for item in inner if isinstance(inner, list) else [inner]:
        if isinstance(item, dict):
            yield from _unwrapped(item)


def _answer_within(arguments: object) -> object:
    try:
        return call_arguments(arguments).get("answer")
    except ValueError:
        return arguments


def _is_final(data: dict[str, Any]) -> bool:
    said = (data.get("type"), _name(data))
    return any(isinstance(word, str) and word.lower().replace(" ", "_") == FINAL for word in said)


def _is_call(data: dict[str, Any]) -> bool:
    return _says_so(data) or any(key in data for key in ARGUMENT_KEYS) or BARE_KEYS.issuperset(data)


def _says_so(data: dict[str, Any]) -> bool:
    return data.get("type") in CALL_TYPES


def _holds_arguments(data: dict[str, Any]) -> bool:
    if any(key in data for key in CALLS_OWN_KEYS):
        return True
    try:
        return _arguments(data) is not None and call_arguments(_arguments(data)) is not None
    except ValueError:
        return False


def _name(data: dict[str, Any]) -> str | None:
    value = next((data[key] for key in NAME_KEYS if isinstance(data.get(key), str)), None)
    return value or None


def _arguments(data: dict[str, Any]) -> object:
    """Return the arguments; where no key holds them, they are the keys that no call has."""
    beside = {key: value for key, value in data.items() if key not in CALL_KEYS}
    return next((data[key] for key in ARGUMENT_KEYS if key in data), beside or None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
