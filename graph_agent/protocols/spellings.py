"""Finds the objects of a reply that may be calls, in the notations that models were trained on."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from graph_agent.json_text import MOST_OBJECTS, Found, scan

LOOK_BACK = 200
"""Characters before an object that may hold its notation."""
NAME = r"[\w.:/-]++"
NAMED = re.compile(
    r"(?:<function=|<function name=\"|\[TOOL_CALLS\]\s*|<\|tool_call_begin\|>\s*"
    rf"|<\uff5ctool\u2581sep\uff5c>\s*|\bto=functions\.|\bAction:\s*)(?P<name>{NAME})"
    r"(?:[\"'>\s`]|\[ARGS\]|<\|[^|<>]{1,40}\|>|json|Action Input:)*+\Z"
)
"""A name that stands before its arguments: Llama, Mistral, Kimi, DeepSeek, gpt-oss, ReAct."""
TAGGED = re.compile(
    r"(?:<\|?tool_calls?\|?>|<function_calls?>|<\|python_tag\|>|\[TOOL_CALLS\])"
    r"(?:[\[\s`]|json)*+\Z"
)
"""What stands before a whole call: Qwen, Hermes, Granite, Llama, Mistral."""
SIGNS = ("<", "[", "`", ":", "to=")
"""One of these is in every notation."""
FENCED = re.compile(r"```\w*+\s*+\[?\s*+\Z")
IN_TAGS = re.compile(
    rf"<(?:function=|invoke name=\"|tool_call>(?=\s*+{NAME}\s*+<arg_key>))\s*+(?P<name>{NAME})\"?>?"
    r"(?P<body>\s*+<(?:parameter|arg_key)\b.*?|\s*+)"
    r"(?P<close></(?:function|invoke|tool_call)>|\Z)",
    re.DOTALL,
)
"""A call whose arguments are tags as well: Qwen Coder, MiniMax, GLM."""
PARAMETER = re.compile(
    r"\s*+<parameter(?:=|\s+name=\")(?P<key>[\w.-]+)\"?>\n?(?P<value>.*?)\n?</parameter>\s*+"
    r"|\s*+<arg_key>(?P<other>[^<>]*+)</arg_key>\s*+<arg_value>(?P<given>.*?)</arg_value>\s*+",
    re.DOTALL,
)
BETWEEN = re.compile(
    r"(?:```\w*+|</?[|\uff5c]?\w[^<>]{0,60}>|\[/?TOOL_CALLS\]|json\b|[\s\[\],;])*+"
)
"""What may stand around calls and is no word of an answer."""


@dataclass(frozen=True)
class Spelled:
    """An object of a reply, with what its surroundings say of it."""

    data: dict[str, Any]
    start: int
    end: int
    """Index behind its last character."""
    sound: bool
    """It is complete, and was read without a guess."""
    marked: bool
    """A notation for calls says that it is one."""
    fenced: bool
    outermost: bool
    """Nothing but such objects stands before it, or behind it."""


def spelled(text: str) -> list[Spelled]:
    """Find the objects of a text, in order; of calls in other notations, as name and arguments.

    Returns:
        All, or the first `MOST_OBJECTS` and one more: then there are more, and none may be run.

    >>> [item.data for item in spelled('<function=add>{"a": 1}</function>')]
    [{'name': 'add', 'arguments': {'a': 1}}]
    """
    tagged = list(islice(_in_tags(text), MOST_OBJECTS + 1)) if "<" in text else []
    starts = [tag.start for tag in tagged]

    def is_in_tags(item: Spelled) -> bool:
        before = bisect_left(starts, item.end)
        return before > 0 and item.start < tagged[before - 1].end

    objects = (_placed(found, text) for found in scan(text))
    outside = [item for item in objects if not is_in_tags(item)]
    items = sorted([*outside, *tagged], key=lambda item: item.start)
    return _outermost(items[: MOST_OBJECTS + 1], text)


def _placed(found: Found, text: str) -> Spelled:
    before = text[max(0, found.start - LOOK_BACK) : found.start]
    before = before if any(sign in before for sign in SIGNS) else ""
    data, start, name = found.data, found.start, NAMED.search(before)
    if name:
        data = {"name": name["name"], "arguments": found.data}
        start -= len(before) - name.start()
    return Spelled(
        data,
        start,
        found.end,
        sound=found.sound,
        marked=bool(name or TAGGED.search(before)),
        fenced=bool(FENCED.search(before)),
        outermost=False,
    )


def _in_tags(text: str) -> Iterator[Spelled]:
    for match in IN_TAGS.finditer(text):
        args, body, end = {}, match["body"], 0
        while parameter := PARAMETER.match(body, end):
            name = str(parameter["key"] or parameter["other"])
            args[name] = parameter["value"] or parameter["given"] or ""
            end = parameter.end()
        yield Spelled(
            {"name": match["name"], "arguments": args},
            *match.span(),
            sound=bool(match["close"]) and not body[end:].strip(),
            marked=True,
            fenced=False,
            outermost=False,
        )


def _outermost(items: list[Spelled], text: str) -> list[Spelled]:
    """Mark the items that a text begins or ends with; neighbours of theirs are so too."""
    ends = [0, *(item.end for item in items)]
    starts = [*(item.start for item in items), len(text)]
    words = [
        number
        for number, (end, start) in enumerate(zip(ends, starts, strict=True))
        if not BETWEEN.fullmatch(text, end, max(end, start))
    ]
    first, last = (words[0], words[-1]) if words else (len(items), -1)
    return [
        replace(item, outermost=True) if number < first or number >= last else item
        for number, item in enumerate(items)
    ]
