"""Puts what a tool returned into text that a model can read."""

from typing import Any

import orjson

NO_OUTPUT = "(no output)"


def result_text(result: object) -> str:
    """Return text as it is, data as JSON, and words for nothing.

    >>> result_text({"city": "서울"}), result_text(None), result_text(3)
    ('{"city":"서울"}', '(no output)', '3')
    """
    if isinstance(result, str):
        return _clean(result) if result else NO_OUTPUT
    if result is None:
        return NO_OUTPUT
    try:
        return orjson.dumps(result, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return _clean(str(result))


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return str(value)


def _clean(text: str) -> str:
    """Replace what UTF-8 or PostgreSQL cannot hold: lone surrogates and NUL."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
