"""Puts messages into the form that OpenAI-compatible endpoints take, each one once.

The client's own transformation walks the whole history at every call. Here each message is
encoded when it is first sent; a request is a join of those pieces.
"""

import json
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import orjson
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_data_block,
    is_data_content_block,
)

T = TypeVar("T")


class PerMessage(Generic[T]):
    """Remembers one value for each message object, for as long as the object lives."""

    def __init__(self, make: Callable[[BaseMessage], T]) -> None:
        self._make = make
        self._known: dict[int, tuple[weakref.ref[BaseMessage], T]] = {}

    def __call__(self, message: BaseMessage) -> T:
        """Return the value, made at the first call."""
        key = id(message)
        entry = self._known.get(key)
        if entry is not None and entry[0]() is message:
            return entry[1]
        value = self._make(message)
        forget = weakref.ref(message, lambda _: self._known.pop(key, None))
        self._known[key] = (forget, value)
        return value


def to_wire(message: BaseMessage) -> dict[str, Any]:
    """Return a message as an endpoint takes it: plain JSON data.

    Raises:
        TypeError: The message is of a kind that no endpoint takes.
    """
    match message:
        case SystemMessage():
            return {"role": "system", "content": message.text}
        case HumanMessage():
            return {"role": "user", "content": _content(message)}
        case ToolMessage():
            content = message.text
            return {"role": "tool", "tool_call_id": message.tool_call_id, "content": content}
        case AIMessage():
            return _assistant(message)
    raise TypeError(f"A {type(message).__name__} cannot be sent to a model.")


encoded: Final = PerMessage[bytes](lambda message: orjson.dumps(to_wire(message)))
"""A message as JSON bytes."""


def request_body(parameters: Mapping[str, Any], messages: Sequence[BaseMessage]) -> bytes:
    """Join the parameters of a call and its messages into a request's body."""
    head = orjson.dumps(parameters)
    joined = b",".join([encoded(message) for message in messages])
    return head[:-1] + (b"," if parameters else b"") + b'"messages":[' + joined + b"]}"


def _content(message: BaseMessage) -> str | list[Any]:
    if isinstance(message.content, str):
        return message.content
    return [_block(block) for block in message.content]


def _block(block: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    return convert_to_openai_data_block(block) if is_data_content_block(block) else block


def _assistant(message: AIMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {
                    "name": call["name"],
                    "arguments": _arguments(call["args"]),
                },
            }
            for call in message.tool_calls
        ]
    return wire


def _arguments(args: Mapping[str, Any]) -> str:
    try:
        return orjson.dumps(args).decode()
    except TypeError:
        # A model may write whole numbers beyond 64 bits, which orjson does not.
        return json.dumps(args)
