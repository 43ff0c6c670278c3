"""Cleans what a caller gives to the graph before anything is saved: threads hold plain data."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages

from graph_agent.errors import ConfigError
from graph_agent.plain_text import cleaned
from graph_agent.state import AgentInput

FIELDS = ("content", "additional_kwargs", "response_metadata", "name", "tool_calls", "artifact")
"""What a caller fills of a message."""


def plain_input(given: Any) -> Any:
    """Return an input with its messages cleaned; anything else as it is.

    Raises:
        ConfigError: A message holds what cannot be stored; the text names the place.
    """
    if isinstance(given, AgentInput):
        return replace(given, messages=_plain_messages(given.messages))
    if isinstance(given, dict) and given.get("messages"):
        return {**given, "messages": _plain_messages(given["messages"])}
    return given


def _plain_messages(given: Any) -> list[Any]:
    messages = given if isinstance(given, list | tuple) else [given]
    try:
        converted = convert_to_messages(messages)
    except (NotImplementedError, ValueError) as error:
        raise ConfigError(f"`messages` cannot be read: {error}") from error
    return [_plain(message, f"messages[{n}]") for n, message in enumerate(converted)]


def _plain(message: BaseMessage, place: str) -> BaseMessage:
    update: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(message, name, None)
        if fault := next(_unplain(value, f"{place}.{name}"), None):
            raise ConfigError(
                f"{fault} cannot be stored. Give plain data: text, numbers, lists and dicts."
            )
        if (plain := cleaned(value)) != value:
            update[name] = plain
    return message.model_copy(update=update) if update else message


def _unplain(value: Any, place: str) -> Iterator[str]:
    """Name the places of what is no plain data."""
    match value:
        case None | str() | bool() | int() | float():
            pass
        case list() | tuple():
            for number, item in enumerate(value):
                yield from _unplain(item, f"{place}[{number}]")
        case dict():
            for key, item in value.items():
                yield from _unplain(item, f"{place}.{key}")
        case _:
            yield f"`{place}`, a value of type `{type(value).__name__}`,"
