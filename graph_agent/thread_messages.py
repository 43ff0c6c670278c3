"""Adds messages to a thread; what a step costs does not grow with the thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage
from langgraph.graph.message import _messages_delta_reducer

from graph_agent.message_cache import PerMessage


@dataclass
class Places:
    """Where each id stands in a thread, and in those that it grew to."""

    count: int
    by_id: dict[str, int]
    """May hold ids beyond `count`: those of the messages that came later."""


def with_messages(thread: list[AnyMessage], writes: list[Any]) -> list[AnyMessage]:
    """Return a thread with what nodes wrote, as LangGraph's own reducer does.

    LangGraph does this three times a step, and its own looks at every message each time.
    """
    added = [each for write in writes for each in (write if isinstance(write, list) else [write])]
    if thread and _are_plain(added) and _fit(thread, added):
        return [*thread, *cast("list[AnyMessage]", added)]
    changed = _messages_delta_reducer(thread, writes)
    if changed:
        _NEWEST(changed[-1]).clear()
    return changed


def _are_plain(added: Sequence[Any]) -> TypeGuard[list[BaseMessage]]:
    """Tell whether these are messages with an id, not yet forms of one, or marks to remove one."""
    return all(
        isinstance(each, BaseMessage) and each.id and not isinstance(each, RemoveMessage)
        for each in added
    )


def _fit(thread: Sequence[BaseMessage], added: Sequence[BaseMessage]) -> bool:
    """Note where new messages come to stand; False where that is not behind all others."""
    places = _places(thread)
    for place, message in enumerate(added, places.count):
        if places.by_id.setdefault(str(message.id), place) != place:
            return False  # One of the thread's, or of another that began as this one.
    if added:
        _NEWEST(added[-1])[:] = [Places(places.count + len(added), places.by_id)]
    return True


def _places(thread: Sequence[BaseMessage]) -> Places:
    known = _NEWEST(thread[-1])
    if not known or known[0].count != len(thread):
        by_id = {str(message.id): place for place, message in enumerate(thread)}
        known[:] = [Places(len(thread), by_id)]
    return known[0]


_NEWEST = PerMessage[list[Places]](lambda _: [])
"""By the last message of a thread."""
