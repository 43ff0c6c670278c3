"""How a fake endpoint counts tokens: roughly, fast, and the same way everywhere."""

from collections.abc import Mapping
from typing import Any

import orjson

from graph_agent.testing.replies import Json

IMAGE_TOKENS = 85
"""Tokens of an image, whatever its size: what OpenAI counts for one in low detail."""


def estimate_tokens(body: Json) -> int:
    """Count messages and tools at four bytes a token, and an image at a fixed price."""
    messages = body.get("messages")
    images = 0
    if isinstance(messages, list):
        stripped = [_without_images(message) for message in messages]
        images = sum(number for _, number in stripped)
        messages = [message for message, _ in stripped]
    text = orjson.dumps([messages, body.get("tools")])
    return len(text) // 4 + images * IMAGE_TOKENS


def usage_of(prompt_tokens: int, message: Json, override: Mapping[str, Any] | None = None) -> Json:
    """Count a reply's tokens as OpenAI reports them; `override` wins."""
    tokens: Json = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": max(1, len(orjson.dumps(message)) // 4),
        **(override or {}),
    }
    return {"total_tokens": tokens["prompt_tokens"] + tokens["completion_tokens"], **tokens}


def _without_images(message: Any) -> tuple[Any, int]:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return message, 0
    texts = [part for part in content if not (isinstance(part, dict) and "image_url" in part)]
    return message | {"content": texts}, len(content) - len(texts)
