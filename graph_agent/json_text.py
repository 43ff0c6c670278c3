"""Finds JSON objects in what a model wrote, and mends them only where nothing strict was found."""

import json
import re
from collections.abc import Iterator
from typing import Any

import json_repair

FENCE = re.compile(r"```[ \t]*(?:json|JSON)?[ \t]*\n?(.*?)```", re.DOTALL)
THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
PARSE_BUDGET = 8
"""Characters parsed for each character of the text, at most: garbage costs linear time."""


def find_objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a text, in order.

    Tried in this order, the first that finds something counts: the whole text, fenced blocks,
    balanced braces amid prose, and last a repair of the first brace to the end.

    >>> find_objects('I will run: {"tool": "a", "args": {"q": "x}y"}} as {planned}.')
    [{'tool': 'a', 'args': {'q': 'x}y'}}]
    >>> find_objects("no JSON here")
    []
    """
    whole = _strict(text)
    if whole:
        return whole
    spoken = THINKING.sub("", text, count=1)
    fenced = [found for block in FENCE.findall(spoken) for found in _strict(block)]
    return fenced or list(_balanced(spoken)) or _repaired(spoken)


def _strict(text: str) -> list[dict[str, Any]]:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return []
    values = value if isinstance(value, list) else [value]
    return values if all(isinstance(item, dict) for item in values) else []


def _balanced(text: str) -> Iterator[dict[str, Any]]:
    budget, after = PARSE_BUDGET * len(text), 0
    for start, end in sorted(_brace_pairs(text)):
        if start < after:
            continue
        budget -= end - start
        if budget < 0:
            return
        for found in _strict(text[start:end]):
            after = end
            yield found


def _brace_pairs(text: str) -> list[tuple[int, int]]:
    """Pair braces in one pass; quotes count only inside braces, where strings can stand."""
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    for match in re.finditer(r'[{}]|"(?:[^"\\]|\\.)*"', text, re.DOTALL):
        token = match.group()
        if token == "{":
            opened.append(match.start())
        elif token == "}" and opened:
            pairs.append((opened.pop(), match.end()))
    return pairs


def _repaired(text: str) -> list[dict[str, Any]]:
    start = text.find("{")
    if start < 0 or not re.search("[\"']", text[start:]):
        return []
    value = json_repair.loads(text[start:])
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, dict) and item]
