"""Images in messages: which blocks hold one, and what stands there for models that read none."""

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage

from graph_agent.message_cache import PerMessage, PerThread
from graph_agent.prompts import IMAGE, IMAGE_LEFT_OUT


def is_image(block: str | dict[Any, Any]) -> bool:
    """Tell whether a content block holds an image, in whatever spelling."""
    return isinstance(block, dict) and "image" in str(block.get("type", ""))


def holds_image(message: BaseMessage) -> bool:
    """Tell whether there is an image in a message."""
    return isinstance(message.content, list) and any(map(is_image, message.content))


def words_of(message: BaseMessage) -> str:
    r"""Return a message's text, with a note for each image: what a person or a text model is told.

    >>> from langchain_core.messages import HumanMessage
    >>> image = {"type": "image", "url": "https://example.org/cat.png"}
    >>> words_of(HumanMessage([{"type": "text", "text": "Who is this?"}, image]))
    'Who is this?\n[image]'
    """
    images = filter(is_image, message.content) if isinstance(message.content, list) else ()
    return "\n".join([*filter(None, [message.text]), *(IMAGE for _ in images)])


def without_images(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Put a note where an image stands; a message without one stays the same object."""
    if not _ANY(messages):
        return [*messages]
    return [_WITHOUT(message) if holds_image(message) else message for message in messages]


def _noted(message: BaseMessage) -> BaseMessage:
    note = {"type": "text", "text": IMAGE_LEFT_OUT}
    blocks = [note if is_image(block) else block for block in message.content]
    return message.model_copy(update={"content": blocks})


_WITHOUT: Final = PerMessage[BaseMessage](_noted)
"""Copies without images, so that the same one is shown (and encoded) each time."""


def _or_next(any_before: bool, message: BaseMessage) -> bool:
    return any_before or holds_image(message)


_ANY: Final = PerThread[bool](bool, _or_next)
"""Whether there is an image in any message."""
