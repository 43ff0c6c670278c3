"""Counts how often a run made the same call with the same result."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from graph_agent.message_cache import PerThread
from graph_agent.prompts import REPEATED_CALL

Call = tuple[str, str]
"""A tool's name and its arguments as canonical JSON."""


def canonical(name: str, args: dict[str, Any]) -> Call:
    """Name a call so that equal ones are equal, whatever the order of their arguments.

    >>> canonical("ls", {"p": 1, "o": 2}) == canonical("ls", {"o": 2, "p": 1})
    True
    """
    try:
        return name, orjson.dumps(args, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        # A model may write whole numbers beyond 64 bits, which orjson does not.
        return name, json.dumps(args, sort_keys=True)


@dataclass
class Made:
    """The calls of a run, by what came of them."""

    times: Counter[tuple[Call, int]] = field(default_factory=Counter)
    """Replies that made a call and got a result."""
    calls: dict[str, Call] = field(default_factory=dict)
    """Of the newest reply, by id."""
    counted: set[tuple[Call, int]] = field(default_factory=set)
    """Of the newest reply: equal calls count once, for the model could not know better yet."""


def times_made(messages: Sequence[BaseMessage], start: int, call: Call, result: str) -> int:
    """Count the replies in `messages[start:]` that made this call and got this result."""
    return _MADE(messages, start).times[call, hash(result)]


def warn_of_repeat(result: ToolMessage) -> None:
    """Tell the model, behind the result, that it made this call before."""
    if isinstance(result.content, str):
        result.content += REPEATED_CALL
    else:
        result.content = [*result.content, {"type": "text", "text": REPEATED_CALL}]


def _with_next(made: Made, message: BaseMessage) -> Made:
    if isinstance(message, AIMessage):
        made.calls = {call["id"] or "": _named(call) for call in message.tool_calls}
        made.counted = set()
    elif isinstance(message, ToolMessage) and message.tool_call_id in made.calls:
        # As the tool gave it, without our warning; its hash, for it may be long.
        result = hash(message.text.removesuffix(REPEATED_CALL))
        came = (made.calls[message.tool_call_id], result)
        made.times[came] += came not in made.counted
        made.counted.add(came)
    return made


def _named(call: ToolCall) -> Call:
    return canonical(call["name"], call["args"])


_MADE: Final = PerThread(Made, _with_next)
