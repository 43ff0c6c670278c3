"""Cleans text at the door: what UTF-8 or PostgreSQL cannot hold never enters a thread."""

from typing import TypeVar, cast

T = TypeVar("T")

INTEGER_BITS = 63
"""Of the largest integers that checkpoints and JSON on the wire can hold."""


def plain_text(text: str) -> str:
    r"""Replace lone surrogates by `?`, and NUL by the replacement character.

    >>> plain_text("서울 🙂")
    '서울 🙂'
    >>> plain_text("half \ud83d, nothing \x00")
    'half ?, nothing �'
    """
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def cleaned(data: T) -> T:
    r"""Clean all text within data of lists and dicts; too large integers become text.

    >>> cleaned([{"type": "text", "text": "\x00"}])
    [{'type': 'text', 'text': '�'}]
    """
    plain: object = data
    if isinstance(data, str):
        plain = plain_text(data)
    elif isinstance(data, list):
        plain = [cleaned(item) for item in data]
    elif isinstance(data, int) and data.bit_length() > INTEGER_BITS:
        plain = str(data)
    elif isinstance(data, dict):
        plain = {cleaned(key): cleaned(value) for key, value in data.items()}
    return cast("T", plain)
