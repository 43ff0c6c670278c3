"""Finds JSON objects in what a model wrote, and mends those that strict parsing refuses."""

import ast
import json
import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
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
NOT_PYTHON = re.compile(r"\\[^\\'\"abfnrtvxuUN0-7\n]")
"""An escape that Python does not know, and would warn of."""
MEND_BUDGET = 6_000
"""Characters mended in one text, at most: mending takes up to the square of the length."""
MOST_BRACES = 200
"""Braces that open in what is mended: it takes up to the square of their number as well."""
DEEPEST = 100
"""Levels that a value may be nested: a model that goes on opening brackets has lost its way."""
MOST_OBJECTS = 5_000
"""Objects of one text that are looked at. Where there are more, one more is found, to tell so."""

STRING = r'("(?:[^"\\]|\\.)*+"?)'
COMMENT = re.compile(STRING + r"|//[^\n]*|#[^\n]*|/\*.*?\*/", re.DOTALL)
SPARE_COMMA = re.compile(STRING + r",(?=\s*[}\]])", re.DOTALL)
BACKSLASH = re.compile(r"""\\(["'\\/bfnrt]|u[0-9a-fA-F]{4})?""")
NUMBER = re.compile(r"(?<!\d)(?:0(?!\d)|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?")
"""As JSON writes numbers: one with a zero before it may be cut, and is compared as it is."""
QUOTED = re.compile(r"""\s*(["']).*\1\s*""", re.DOTALL)
"""A text within quotes of its own: a mend took the marks of a string for its content."""
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[nrtbf])")
NEWLINE = re.compile(r"""\\(?:(?P<escaped>n|u000[aA])|.)|\n(?=["']\s*+[,}\]])""", re.DOTALL)
"""An escape, or a line break right before what closes a text."""
KEPT_NEWLINE = "\ue000"
"""Stands for a line break while a text is mended: json_repair drops it at the end of a string."""
NO_CONTENT = re.compile(r"[\s\\\"'`,:;{}\[\]()]+")
EMPTY_TEXT = re.compile(r"""(?<!["'\\])(?:""|'')(?!["'])""")

_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class Found:
    """One object of a text, and where it stands."""

    data: dict[str, Any]
    start: int
    end: int
    """Index behind its last character."""
    sound: bool
    """It is closed, and holds what the text holds: nothing was left out or guessed."""


def find_objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a text, in order; never one that stands inside another.

    A text that is JSON as a whole is taken as it is. Amid prose, what stands in a think block
    is left out, and an object that strict parsing refuses is mended as a whole.

    >>> find_objects('I will run: {"tool": "a", "args": {"q": "x}y"}} as {planned}.')
    [{'tool': 'a', 'args': {'q': 'x}y'}}]
    >>> find_objects("no JSON here")
    []
    """
    return [found.data for found in scan(text)]


def scan(text: str) -> list[Found]:
    """Find what `find_objects` returns, with its place, and whether it may be acted upon.

    Returns:
        All objects, or the first `MOST_OBJECTS` and one more: then there is more that was not read.

    >>> scan('Go: {"a": "b')
    [Found(data={'a': 'b'}, start=4, end=12, sound=False)]
    """
    found = _whole(text) or _amid_prose(text)
    return [item for item in found if not _too_deep(item)]


def nested_too_deep(value: object) -> bool:
    """Tell whether data are nested beyond what checkpoints, the wire and tools can take."""
    level = [value]
    for _ in range(DEEPEST):
        level = [part for item in level for part in _inner(item)]
        if not level:
            return False
    return True


def _too_deep(found: Found) -> bool:
    # Each level takes a bracket at least, so that what is short need not be walked through.
    return found.end - found.start > DEEPEST and nested_too_deep(found.data)


def _inner(item: object) -> list[object]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else []


def _whole(text: str) -> list[Found]:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return []
    looked_at = _objects(value)[: MOST_OBJECTS + 1]
    return [Found(item, 0, len(text), sound=True) for item in looked_at]


def _amid_prose(text: str) -> list[Found]:
    found: list[Found] = []
    position, budget = 0, MEND_BUDGET
    think_ends = [match.end() for match in THINK_END.finditer(text)]
    while len(found) <= MOST_OBJECTS and (token := TOKEN.search(text, position)):
        start, position = token.span()
        if token.lastgroup == "thinks":
            number = bisect(think_ends, start)
            position = think_ends[number] if number < len(think_ends) else position
        elif token.lastgroup == "thought":
            # Some templates put the opening tag into the prompt: all until here was thought.
            found.clear()
        else:
            try:
                value, position = _DECODER.raw_decode(text, start)
                sound = True
            except (ValueError, RecursionError):
                position, closed = _closing(text, start, budget)
                budget -= position - start
                if budget < 0:
                    break
                value, faithful = _mended(text[start:position])
                sound = closed and faithful
            found += [Found(item, start, position, sound) for item in _objects(value)]
    return found


def _closing(text: str, start: int, most: int) -> tuple[int, bool]:
    """Find where the object that opens at `start` ends: at its brace, else with the text.

    One of more than `most` characters is cut behind them: it is too long anyway.
    """
    parts = PYTHON_PARTS if PYTHON_DICT.match(text, start) else STRICT_PARTS
    end = min(len(text), start + most + 1)
    depth = 0
    for part in parts.finditer(text, start, end):
        depth += {"{": 1, "}": -1}.get(part.group(), 0)
        if depth == 0:
            return part.end(), True
    return end, False


def _mended(text: str) -> tuple[object, bool]:
    """Read an object that is no JSON, and tell whether the result holds what it held."""
    if text.count("{") > MOST_BRACES:
        return None, False
    for read in (_python, _tidied):
        try:
            return read(text), True
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    try:
        value = _repaired(text)
        # An object without content is what is left where nothing could be mended.
        return value or None, _is_faithful(text, value)
    except (AssertionError, ValueError, RecursionError):
        # json_repair asserts what some garbage does not fulfil.
        return None, False


def _python(text: str) -> object:
    if not PYTHON_DICT.match(text) or NOT_PYTHON.search(text):
        raise ValueError("no Python")
    return _as_json(ast.literal_eval(text))


def _tidied(text: str) -> object:
    """Read JSON with comments, commas too many, or backslashes that escape nothing."""
    bare = COMMENT.sub(lambda match: match[1] or " ", text)
    bare = SPARE_COMMA.sub(lambda match: match[1] or "", bare)
    bare = BACKSLASH.sub(_mended_escape, bare)
    return _DECODER.decode(bare)


def _mended_escape(match: re.Match[str]) -> str:
    """Keep what JSON escapes; an apostrophe needs no escape, and any other backslash is one."""
    if match[1] == "'":
        return "'"
    return match[0] if match[1] else r"\\"


def _repaired(text: str) -> object:
    """Read what is left of an object, by guesses."""
    kept = NEWLINE.sub(
        lambda match: KEPT_NEWLINE if match["escaped"] or match[0] == "\n" else match[0], text
    )
    return _as_json(_with_newlines(json_repair.loads(kept, skip_json_loads=True)))


def _with_newlines(value: object) -> object:
    if isinstance(value, str):
        return value.replace(KEPT_NEWLINE, "\n")
    if isinstance(value, list):
        return [_with_newlines(item) for item in value]
    if isinstance(value, dict):
        return {_with_newlines(key): _with_newlines(item) for key, item in value.items()}
    return value


def _as_json(value: object) -> object:
    """Give a value JSON's types, with half characters joined; a set and the like become None."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return None


def _is_faithful(text: str, mended: object) -> bool:
    """Compare what is left of both without punctuation, comments and the spelling of values."""
    written = json.dumps(mended, ensure_ascii=False)
    bare = COMMENT.sub(lambda match: match[1] or " ", text)
    invented = len(EMPTY_TEXT.findall(written)) > len(EMPTY_TEXT.findall(bare))
    swallowed = '\\"' not in text and any(map(QUOTED.fullmatch, _texts(mended)))
    return not (invented or swallowed) and _content(bare) == _content(written)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _content(text: str) -> str:
    plain = ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else " ", text)
    # Two halves that were written as escapes are one character.
    plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    # Halves of a character that were escaped one by one become one.
    plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    plain = NUMBER.sub(lambda match: repr(float(match[0])), plain)
    return NO_CONTENT.sub("", plain).lower().replace("none", "null")


def _objects(value: object) -> list[dict[str, Any]]:
    """Take an object, or a list of nothing but objects."""
    values: list[Any] = value if isinstance(value, list) else [value]
    return values if all(isinstance(item, dict) for item in values) else []
