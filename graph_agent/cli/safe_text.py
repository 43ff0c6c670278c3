"""Makes text from models and tools harmless for a terminal: it may hold control sequences."""

import json
import re
from collections.abc import Mapping
from typing import Any

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""C0 but tab and line feed, DEL, C1, and surrogates, which no encoding can write."""
JSON_CONTROLS = re.compile(r"[\x7f-\x9f\ud800-\udfff]")
"""What `json.dumps` leaves as it is."""


def clean(text: str) -> str:
    r"""Replace each control character by its picture; tabs and line breaks stay.

    >>> clean("a\x1b[31mb\r\nc\x9b")
    'a␛[31mb\nc�'
    """
    return CONTROLS.sub(_picture, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    r"""Clean a text and put it on one line.

    >>> one_line("one\n\n  two")
    'one two'
    """
    return " ".join(clean(text).split())


def json_line(event: Mapping[str, Any]) -> str:
    r"""Spell an event as one line of JSON, with control characters escaped.

    >>> json_line({"event": "end", "data": {"text": "é\x9b"}})
    '{"event": "end", "data": {"text": "é\\u009b"}}'
    """
    line = json.dumps(event, ensure_ascii=False)
    return JSON_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def _picture(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number < 0x20:
        return chr(0x2400 + number)
    return "␡" if number == 0x7F else "\N{REPLACEMENT CHARACTER}"
