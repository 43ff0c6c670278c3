"""Counts how often a run made the same call with the same result."""

import json
from collections.abc import Sequence
from typing import Any, Final

import orjson
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from graph_agent.models.wire import PerMessage
from graph_agent.prompts import REPEATED_CALL

Call = tuple[str, bytes]
"""A tool's name and its arguments as canonical JSON."""


def canonical(name: str, args: dict[str, Any]) -> Call:
    """Name a call so that equal ones are equal, whatever the order of their arguments.

    >>> canonical("ls", {"p": 1, "o": 2}) == canonical("ls", {"o": 2, "p": 1})
    True
    """
    try:
        return name, orjson.dumps(args, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # A model may write whole numbers beyond 64 bits, which orjson does not.
        return name, json.dumps(args, sort_keys=True).encode()


def times_made(messages: Sequence[BaseMessage], call: Call, result: str) -> int:
    """Count the replies in `messages` that made this call and got this result.

    Equal calls in one reply count once: the model could not know better yet.
    """
    wanted, times, made, counted = hash(result), 0, dict[str, Call](), False
    for message in messages:
        if isinstance(message, AIMessage):
            made, counted = _CALLS(message), False
        elif isinstance(message, ToolMessage) and not counted:
            counted = made.get(message.tool_call_id) == call and _RESULT(message) == wanted
            times += counted
    return times


def warn_of_repeat(result: ToolMessage) -> None:
    """Tell the model, behind the result, that it made this call before."""
    if isinstance(result.content, str):
        result.content += REPEATED_CALL
    else:
        result.content = [*result.content, {"type": "text", "text": REPEATED_CALL}]


def _calls_of(message: BaseMessage) -> dict[str, Call]:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return {call["id"] or "": canonical(call["name"], call["args"]) for call in calls}


_CALLS: Final = PerMessage[dict[str, Call]](_calls_of)
_RESULT: Final = PerMessage[int](lambda message: hash(message.text.removesuffix(REPEATED_CALL)))
"""A result as the tool gave it, without our warning; its hash, for it may be long."""
