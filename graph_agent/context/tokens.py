"""Estimates tokens without a tokenizer, on the high side, once for each message."""

import json
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage

from graph_agent.models.wire import PerMessage

ASCII_CHARS_PER_TOKEN = 3.5
"""English prose has about 4.5, code and JSON about 3.5."""
OTHER_CHARS_PER_TOKEN = 1.0
"""Korean, Chinese and emoji take about one token a character, sometimes more."""
MESSAGE_OVERHEAD = 4
"""Tokens that a role and its delimiters take."""
IMAGE_TOKENS = 1_000
"""Tokens of an image, whatever the size of its file."""


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text.

    >>> text_tokens("What is the capital of Japan?"), text_tokens("서울의 날씨")
    (9, 6)
    """
    ascii_chars = len(text.encode("ascii", "ignore"))
    others = len(text) - ascii_chars
    return round(ascii_chars / ASCII_CHARS_PER_TOKEN + others / OTHER_CHARS_PER_TOKEN + 0.5)


def _count(message: BaseMessage) -> int:
    total = MESSAGE_OVERHEAD + text_tokens(message.text)
    if isinstance(message.content, list):
        total += IMAGE_TOKENS * sum(_is_image(block) for block in message.content)
    if isinstance(message, AIMessage) and message.tool_calls:
        total += text_tokens(_json(message.tool_calls))
    return total


message_tokens: Final = PerMessage[int](_count)
"""Tokens of one message, counted once for each message object."""


def schema_tokens(schemas: list[dict[str, Any]]) -> int:
    """Estimate what tool schemas take."""
    return text_tokens(_json(schemas)) if schemas else 0


def _json(data: object) -> str:
    # A caller's history may hold integers that orjson refuses.
    return json.dumps(data, ensure_ascii=False, default=str)


def _is_image(block: str | dict[Any, Any]) -> bool:
    return isinstance(block, dict) and "image" in str(block.get("type", ""))
