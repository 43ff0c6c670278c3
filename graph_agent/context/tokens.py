"""Counts the tokens of messages and schemas, once for each message."""

import json
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage

from graph_agent.context.estimate import estimated_tokens
from graph_agent.models.wire import PerMessage

MESSAGE_OVERHEAD = 4
"""Tokens that a role and its delimiters take."""
IMAGE_TOKENS = 1_000
"""Tokens of an image, whatever the size of its file."""


def text_tokens(text: str) -> int:
    """Count the tokens of a text: see `estimate.py`."""
    return estimated_tokens(text)


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
