"""Finds JSON objects in what a model wrote, and mends those that strict parsing refuses."""

import json
import re
from bisect import bisect
from itertools import islice
from typing import Any

import json_repair

THINK_END = re.compile(r"</think(?:ing)?>")
TOKEN = re.compile(
    r"(?P<thinks><think(?:ing)?>)"
    r"|(?P<thought></think(?:ing)?>)"
    r"""|\{(?=\s*+(?:["'}]|\w{1,64}\s*+:))"""
)
"""What counts amid prose: thinking, and a brace that opens an object, not `{x}`."""
STRICT_PARTS = re.compile(r'[{}]|"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
PYTHON_PARTS = re.compile(STRICT_PARTS.pattern + r"|'[^'\\]*+(?:\\.[^'\\]*+)*+'?", re.DOTALL)
"""Braces, and the strings in which braces do not count."""
PYTHON_DICT = re.compile(r"\{\s*'")
MEND_BUDGET = 6_000
"""Characters mended in one text, at most: mending takes up to the square of the length."""

_DECODER = json.JSONDecoder(strict=False)


def find_objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a text, in order; never one that stands inside another.

    A text that is JSON as a whole is taken as it is. Amid prose, what stands in a think block
    is left out, and an object that strict parsing refuses is mended as a whole.

    >>> find_objects('I will run: {"tool": "a", "args": {"q": "x}y"}} as {planned}.')
    [{'tool': 'a', 'args': {'q': 'x}y'}}]
    >>> find_objects("no JSON here")
    []
    """
    return _whole(text) or _amid_prose(text)


def _whole(text: str) -> list[dict[str, Any]]:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return []
    return _objects(value)


def _amid_prose(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    position, budget = 0, MEND_BUDGET
    think_ends = [match.end() for match in THINK_END.finditer(text)]
    while token := TOKEN.search(text, position):
        start, position = token.span()
        if token["thinks"]:
            position = next(islice(think_ends, bisect(think_ends, start), None), position)
        elif token["thought"]:
            # Some templates put the opening tag into the prompt: all until here was thought.
            found.clear()
        else:
            try:
                value, position = _DECODER.raw_decode(text, start)
            except (ValueError, RecursionError):
                position = _closing(text, start)
                budget -= position - start
                if budget < 0:
                    break
                value = _mended(text[start:position])
            found += _objects(value)
    return found


def _closing(text: str, start: int) -> int:
    """Find where the object that opens at `start` ends: at its brace, else with the text."""
    parts = PYTHON_PARTS if PYTHON_DICT.match(text, start) else STRICT_PARTS
    depth = 0
    for part in parts.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(part.group(), 0)
        if depth == 0:
            return part.end()
    return len(text)


def _mended(text: str) -> object:
    try:
        # An object without content is what is left where nothing could be mended.
        return json_repair.loads(text, skip_json_loads=True) or None
    except (ValueError, RecursionError):
        return None


def _objects(value: object) -> list[dict[str, Any]]:
    """Take an object, or a list of nothing but objects."""
    values: list[Any] = value if isinstance(value, list) else [value]
    return values if all(isinstance(item, dict) for item in values) else []
