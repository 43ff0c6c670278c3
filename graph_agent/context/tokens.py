"""Counts the tokens of messages and schemas, once for each message.

Counts are exact where tiktoken's file is on disk, and estimates on the high side elsewhere.
"""

import json
from typing import Any, Final

import tiktoken
from langchain_core.messages import AIMessage, BaseMessage

from graph_agent.context.encodings import LazyEncoding
from graph_agent.context.estimate import estimated_tokens
from graph_agent.message_cache import PerMessage
from graph_agent.models.images import is_image

MESSAGE_OVERHEAD = 4
"""Tokens that a role and its delimiters take."""
IMAGE_TOKENS = 1_000
"""Tokens of an image, whatever the size of its file."""
LONGEST_EXACT = 200_000
"""Characters of the longest text that is counted exactly: a longer one would take too long."""
SLICE = 10_000
"""Characters that tiktoken is given at once. Where a text has no break its time grows faster than
the text, and a million spaces are more than its patterns can hold."""
LONG = 20_000
"""Characters from which on a text's count is remembered, for shortening one needs it thrice."""
MOST_REMEMBERED = 1_000
"""Counts that are remembered; then all are forgotten."""

ENCODING: Final = LazyEncoding()
"""The encoding of this process, loaded from the first count on; counts before are estimates."""


def text_tokens(text: str) -> int:
    """Count the tokens of a text; a megabyte takes less than 0.1 seconds."""
    return _tokens(text, ENCODING.now())


def _tokens(text: str, encoding: tiktoken.Encoding | None) -> int:
    if len(text) < LONG:
        return _counted(text, encoding)
    key = (hash(text), len(text), encoding is None)
    if (tokens := _REMEMBERED.get(key)) is None:
        if len(_REMEMBERED) >= MOST_REMEMBERED:
            _REMEMBERED.clear()
        tokens = _REMEMBERED[key] = _counted(text, encoding)
    return tokens


_REMEMBERED: Final[dict[tuple[int, int, bool], int]] = {}
"""Counts of long texts; keys are hashes, so that no text is kept for it."""


def _counted(text: str, encoding: tiktoken.Encoding | None) -> int:
    if encoding is None or len(text) > LONGEST_EXACT:
        return estimated_tokens(text)
    return exact_tokens(text, encoding)


def exact_tokens(text: str, encoding: tiktoken.Encoding) -> int:
    """Count by an encoding; text that spells a special token is text."""
    slices = (text[start : start + SLICE] for start in range(0, len(text), SLICE))
    return sum(len(encoding.encode_ordinary(part)) for part in slices)


def message_tokens(message: BaseMessage) -> int:
    """Return the tokens of one message, counted once for each message object."""
    # A message is counted anew when the encoding is there: all counts are of one kind.
    return (_ESTIMATED if ENCODING.now() is None else _EXACT)(message)


def _count(message: BaseMessage, encoding: tiktoken.Encoding | None) -> int:
    total = MESSAGE_OVERHEAD + _tokens(message.text, encoding)
    if isinstance(message.content, list):
        total += IMAGE_TOKENS * sum(map(is_image, message.content))
    if isinstance(message, AIMessage) and message.tool_calls:
        total += _tokens(_json(message.tool_calls), encoding)
    return total


_ESTIMATED: Final = PerMessage[int](lambda message: _count(message, None))
_EXACT: Final = PerMessage[int](lambda message: _count(message, ENCODING.now()))


def schema_tokens(schemas: list[dict[str, Any]]) -> int:
    """Estimate what tool schemas take."""
    return text_tokens(_json(schemas)) if schemas else 0


def _json(data: object) -> str:
    # A caller's history may hold integers that orjson refuses.
    return json.dumps(data, ensure_ascii=False, default=str)
