"""The user's message, as it enters a thread: text, or blocks that every model's client takes."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import HumanMessage

from graph_agent.errors import ConfigError
from graph_agent.plain_text import cleaned

Message = str | Sequence[str | dict[str, Any]]
"""Text, or content blocks: `text`, `image_url`, or LangChain's `image`."""
DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,(.*)", re.DOTALL)
WEB_URL = re.compile(r"https?://\S+")
SHOWN_CHARS = 80
"""Characters of a wrong block that the error quotes."""


def question(message: Message) -> HumanMessage:
    """Make the user's message, with an id of its own.

    Raises:
        ConfigError: It is empty, or a block is not one that models take.
    """
    content = _content(cleaned(message if isinstance(message, str) else list(message)))
    return HumanMessage(content, id=str(uuid4()))


def sendable(message: HumanMessage, *, vision: bool, model: str) -> HumanMessage:
    """Return a user's message in a form that the model can be sent; often it is in one already.

    Raises:
        ConfigError: It is empty, a block is not one that models take, or the model reads no images.
    """
    content = _content(message.content)
    images = [b for b in content if isinstance(b, dict) and b["type"] != "text"]
    if images and not vision:
        raise ConfigError(
            f"The message holds an image, and the model `{model}` reads none. Choose another "
            "model, or, if it does read images, say so: `abilities = { vision = true }`."
        )
    return (
        message if content == message.content else message.model_copy(update={"content": content})
    )


def _content(given: str | Sequence[Any]) -> str | list[str | dict[Any, Any]]:
    content: str | list[str | dict[Any, Any]] = (
        given if isinstance(given, str) else list(_blocks(given))
    )
    if not content or (isinstance(content, str) and not content.strip()):
        raise ConfigError("The message is empty. Write a question.")
    return content


def _blocks(blocks: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the blocks in a form that is sent; blocks of empty text are left out."""
    for number, block in enumerate(blocks, start=1):
        try:
            sent = _block(block)
        except ValueError as fault:
            shown = str(block)[:SHOWN_CHARS]
            raise ConfigError(f"Block {number} of the message, {shown}: {fault}.") from None
        if sent["type"] != "text" or sent["text"].strip():
            yield sent


def _block(block: Any) -> dict[str, Any]:
    match block:
        case str():
            return {"type": "text", "text": block}
        case {"type": "text" | "input_text", "text": str() as text}:
            return {"type": "text", "text": text}
        case {"type": "image_url", "image_url": {"url": str() as url, "detail": str() as detail}}:
            return {"type": "image_url", "image_url": {"url": _checked(url), "detail": detail}}
        case {"type": "image_url", "image_url": {"url": str() as url}}:
            return {"type": "image_url", "image_url": {"url": _checked(url)}}
        case {"type": "image_url" | "input_image", "image_url": str() as url}:
            return {"type": "image_url", "image_url": {"url": _checked(url)}}
        case {"type": "image"}:
            return _image(block)
    raise ValueError(
        'it is none that can be sent; write {"type": "text", "text": …} or '
        '{"type": "image_url", "image_url": {"url": …}}'
    )


def _image(block: Mapping[str, Any]) -> dict[str, Any]:
    """Read LangChain's and other providers' spellings of an image."""
    standard: dict[str, Any] = dict(HumanMessage([dict(block)]).content_blocks[0])
    match standard:
        case {"url": str() as url}:
            return {"type": "image", "url": _checked(url)}
        case {"base64": str() as data, "mime_type": str() as kind}:
            _checked(f"data:{kind};base64,{data}")
            return {"type": "image", "base64": data, "mime_type": kind}
    raise ValueError("an image needs `url`, or `base64` and `mime_type`")


def _checked(url: str) -> str:
    """Refuse what no endpoint could read: it would stand in the thread for good."""
    if WEB_URL.fullmatch(url):
        return url
    found = DATA_URL.fullmatch(url)
    if found is None:
        raise ValueError("an image is given by an `https:` address, or as `data:image/…;base64,…`")
    try:
        base64.b64decode(found[2], validate=True)
    except binascii.Error as error:
        raise ValueError(f"its base64 cannot be read ({error})") from None
    return url
