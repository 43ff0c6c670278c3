"""Remembers what is found out about messages, so that a step pays for the new ones only."""

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar

from langchain_core.messages import BaseMessage

T = TypeVar("T")

LOOK_BACK = 256
"""Messages at the end among which the step before is looked for."""


class PerMessage(Generic[T]):
    """Remembers one value for each message object, for as long as the object lives."""

    def __init__(self, make: Callable[[BaseMessage], T]) -> None:
        self._make = make

    def __call__(self, message: BaseMessage) -> T:
        """Return the value, made at the first call."""
        values = _values_of(message)
        if self not in values:
            values[self] = self._make(message)
        value: T = values[self]
        return value


_KNOWN: Final[dict[int, tuple[weakref.ref[BaseMessage], dict[PerMessage[Any], Any]]]] = {}
"""All that is remembered of a message object, by its id; one entry for all who remember."""


def _values_of(message: BaseMessage) -> dict[PerMessage[Any], Any]:
    key = id(message)
    entry = _KNOWN.get(key)
    if entry is None or entry[0]() is not message:
        # The reference that it is called with is what `pop` returns where the key is gone already.
        forget = weakref.ref(message, partial(_KNOWN.pop, key))
        entry = _KNOWN[key] = (forget, {})
    return entry[1]


class PerThread(Generic[T]):
    """Gathers one value from the messages of a thread, and goes on where it was before.

    A thread only grows, so its newest message tells which one it is, and how far it was read.
    """

    def __init__(self, empty: Callable[[], T], add: Callable[[T, BaseMessage], T]) -> None:
        """Say what is gathered.

        Args:
            empty: Makes the value of no messages.
            add: Takes a value and the next message. It may change the value, and returns it.
        """
        self._empty = empty
        self._add = add
        self._newest = PerMessage[list[tuple[int, int, T]]](lambda _: [])
        """By the last message: from where to where it was read, and what that gave."""

    def __call__(self, messages: Sequence[BaseMessage], start: int = 0) -> T:
        """Return the value of `messages[start:]`, which the caller must not change."""
        end, value = self._before(messages, start)
        for message in messages[end:]:
            value = self._add(value, message)
        if len(messages) > start:
            self._newest(messages[-1])[:] = [(start, len(messages), value)]
        return value

    def _before(self, messages: Sequence[BaseMessage], start: int) -> tuple[int, T]:
        for end in range(len(messages), max(start, len(messages) - LOOK_BACK), -1):
            known = self._newest(messages[end - 1])
            if known and known[0][:2] == (start, end):
                # Only the newest is kept: the value may be changed as it goes on.
                return end, known.pop()[2]
        return start, self._empty()
