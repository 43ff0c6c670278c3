"""Rules about messages; each returns why a request breaks it, or None.

They run in the order of `MESSAGE_RULES`, and each may rely on those before it.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import orjson

from graph_agent.testing.replies import Json

Rule: TypeAlias = Callable[[Json], str | None]
"""Looks at a request's body and says what is wrong with it, or None."""

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What a function may be called."""

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})

_PARTS = {
    "system": {"text"},
    "developer": {"text"},
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}
"""Types of content parts that each role may send."""

_KEYS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "refusal", "audio", "tool_calls", "function_call"},
    "tool": {"role", "content", "tool_call_id"},
}
"""Fields that OpenAI's API knows in each role's messages."""


def messages_are_given(body: Json) -> str | None:
    """`messages` is a list of objects, and not empty."""
    messages = body.get("messages")
    if messages is None:
        return "Missing required parameter: 'messages'."
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        return "Invalid type for 'messages': expected an array of objects."
    if not messages:
        return (
            "Invalid 'messages': empty array. Expected an array with minimum length 1, "
            "but got an empty array instead."
        )
    return None


def roles_are_known(body: Json) -> str | None:
    """Every message has a role, one of OpenAI's five."""
    for index, message in enumerate(body["messages"]):
        if "role" not in message:
            return f"Missing required parameter: 'messages[{index}].role'."
        if message["role"] not in ROLES:
            return (
                f"Invalid value: '{message['role']}' in 'messages[{index}].role'. "
                f"Supported values are: {sorted(ROLES)}."
            )
    return None


def contents_have_a_legal_form(body: Json) -> str | None:
    """Content is a string, or parts that the role may send; null only for an assistant."""
    for index, message in enumerate(body["messages"]):
        if reason := _content_fault(message["role"], message.get("content")):
            return f"Invalid value for 'messages[{index}].content': {reason}."
    return None


def assistants_say_something(body: Json) -> str | None:
    """An assistant message without calls has content, and not null."""
    for index, message in enumerate(body["messages"]):
        silent = message.get("content") is None and not message.get("tool_calls")
        if message["role"] == "assistant" and silent:
            return f"Invalid value for 'messages[{index}].content': expected a string, got null."
    return None


def calls_are_well_formed(body: Json) -> str | None:
    """Every call has an id, a legal name, and the text of a JSON object as arguments."""
    for place, call in _calls(body):
        if reason := _call_fault(call):
            return f"Invalid '{place}': {reason}."
    return None


def call_ids_are_unique(body: Json) -> str | None:
    """No two calls of one message share an id."""
    for index, message in enumerate(body["messages"]):
        ids = [call["id"] for call in message.get("tool_calls") or []]
        if len(ids) != len(set(ids)):
            return f"Duplicate tool call ids in 'messages[{index}].tool_calls': {ids}."
    return None


def tool_messages_name_their_call(body: Json) -> str | None:
    """Every tool message has a `tool_call_id`."""
    for index, message in enumerate(body["messages"]):
        if message["role"] == "tool" and not isinstance(message.get("tool_call_id"), str):
            return f"Missing required parameter: 'messages[{index}].tool_call_id'."
    return None


def calls_and_results_are_paired(body: Json) -> str | None:
    """Calls are followed at once by one tool message per id; no tool message stands alone."""
    waiting: list[str] = []
    for index, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return _orphan(index, message["tool_call_id"])
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return _unanswered(waiting)
        waiting = [call["id"] for call in message.get("tool_calls") or []]
    return _unanswered(waiting) if waiting else None


def message_fields_are_known(body: Json) -> str | None:
    """No message has a field outside OpenAI's API."""
    for index, message in enumerate(body["messages"]):
        if unknown := sorted(message.keys() - _KEYS[message["role"]]):
            return f"Unknown parameter: 'messages[{index}].{unknown[0]}'."
    return None


MESSAGE_RULES: tuple[Rule, ...] = (
    messages_are_given,
    roles_are_known,
    contents_have_a_legal_form,
    assistants_say_something,
    calls_are_well_formed,
    call_ids_are_unique,
    tool_messages_name_their_call,
    calls_and_results_are_paired,
)
"""What every server rejects."""


def _content_fault(role: str, content: Any) -> str | None:
    if isinstance(content, str) or (content is None and role == "assistant"):
        return None
    if not isinstance(content, list):
        return f"expected a string or an array of parts, got {type(content).__name__}"
    if not content:
        return "empty array of parts"
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _PARTS[role] or kind not in part:
            return f"{role} messages cannot hold the part {str(part)[:80]}"
    return None


def _calls(body: Json) -> Iterator[tuple[str, Any]]:
    for index, message in enumerate(body["messages"]):
        calls = message.get("tool_calls")
        place = f"messages[{index}].tool_calls"
        if calls is not None and (message["role"] != "assistant" or not isinstance(calls, list)):
            yield place, None
        elif calls == []:
            yield place, []
        for number, call in enumerate(calls or []):
            yield f"{place}[{number}]", call


def _call_fault(call: Any) -> str | None:
    if call == []:
        return "empty array. Expected an array with minimum length 1"
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        return "expected calls of an assistant, as objects with a 'function'"
    if not isinstance(call.get("id"), str) or not call["id"]:
        return "missing 'id'"
    if call.get("type") != "function":
        return f"'type' must be 'function', got {call.get('type')!r}"
    name = call["function"].get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return f"function name {name!r} does not match '^[a-zA-Z0-9_-]{{1,64}}$'"
    return _arguments_fault(call["function"].get("arguments"))


def _arguments_fault(arguments: Any) -> str | None:
    try:
        value = orjson.loads(arguments)
    except (orjson.JSONDecodeError, TypeError):
        value = None
    if isinstance(arguments, str) and isinstance(value, dict):
        return None
    return f"function arguments must be the text of a JSON object, got {str(arguments)[:80]!r}"


def _orphan(index: int, call_id: str) -> str:
    return (
        f"Invalid parameter: 'messages[{index}]' with role 'tool' must be a response to a "
        f"preceding message with 'tool_calls'; no such call waits: {call_id}."
    )


def _unanswered(ids: list[str]) -> str:
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        f"{', '.join(ids)}"
    )
