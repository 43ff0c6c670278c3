"""The part of a thread that a model is shown, with its tokens; a step only adds what is new.

What is shown depends on the marks alone (the cut and the others in the state), so the prompt of
the step before is the beginning of this one's, unless a compaction moved them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage

from graph_agent.context.exchanges import exchanges
from graph_agent.context.tokens import message_tokens
from graph_agent.context.view import Caps, pinned, shown
from graph_agent.message_cache import PerMessage
from graph_agent.prompts import SUMMARY
from graph_agent.state import AgentState

LOOK_BACK = 256
"""Messages at the end among which the prompt of the step before is looked for."""


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """What a model is shown, oldest first."""

    system: tuple[str, ...]
    """The caller's own system messages, which join the system prompt."""
    messages: list[BaseMessage]
    """All others that are shown."""
    tokens: int
    covers: int
    """How many of the thread's messages it is made of."""
    marks: tuple[Any, ...]
    """What it depends on besides those messages."""


def prompt_of(state: AgentState, caps: Caps) -> Prompt:
    """Build what a model is shown, or add what is new to what it was shown before.

    What the user said in this run stays wherever the cut is; the summary stands for the rest. A
    message over its cap keeps its head and tail.
    """
    caps = caps.lowered(state.cap)
    marks = _marks(state, caps)
    before = _before(state, marks) or _beginning(state, caps, marks)
    if before.covers == len(state.messages) and state.messages:
        return before
    new = [
        message
        for piece in exchanges(state.messages, before.covers)
        for message in shown(piece, caps.message, shrunk=piece.start < state.shrunk)
    ]
    prompt = Prompt(
        system=(*before.system, *_system_texts(state.messages[before.covers :])),
        messages=[*before.messages, *new],
        tokens=before.tokens + _size(new),
        covers=len(state.messages),
        marks=marks,
    )
    return _kept(prompt, state)


def _marks(state: AgentState, caps: Caps) -> tuple[Any, ...]:
    first = id(state.messages[0]) if state.messages else None
    return (state.cut, state.shrunk, state.summary, caps, state.turn["start"], first)


def _beginning(state: AgentState, caps: Caps, marks: tuple[Any, ...]) -> Prompt:
    """Return what stands before the messages behind the cut."""
    summary = [_summary(state.summary)] if state.summary else []
    messages = [*pinned(state, state.cut, caps), *summary]
    return Prompt(
        system=tuple(_system_texts(state.messages[: state.cut])),
        messages=messages,
        tokens=_size(messages),
        covers=state.cut,
        marks=marks,
    )


def _system_texts(messages: Iterable[BaseMessage]) -> Iterator[str]:
    return (message.text for message in messages if isinstance(message, SystemMessage))


@lru_cache(maxsize=256)
def _summary(content: str) -> BaseMessage:
    """Make a summary's message, the same one each time, so that it is encoded once."""
    return HumanMessage(SUMMARY.format(content=content))


def _size(messages: Iterable[BaseMessage]) -> int:
    return sum(map(message_tokens, messages))


def _before(state: AgentState, marks: tuple[Any, ...]) -> Prompt | None:
    """Find the newest prompt that was built by the same marks and holds no half exchange."""
    messages = state.messages
    for end in range(len(messages), max(state.cut, len(messages) - LOOK_BACK), -1):
        for known in _NEWEST(messages[end - 1]):
            if known.covers == end and known.marks == marks:
                if end == len(messages):
                    return known
                # Only the newest is kept: all of them would take the square of their number.
                _NEWEST(messages[end - 1]).clear()
                return None if isinstance(messages[end], ToolMessage) else known
    return None


def _kept(prompt: Prompt, state: AgentState) -> Prompt:
    if state.messages:
        _NEWEST(state.messages[-1])[:] = [prompt]
    return prompt


_NEWEST: Final = PerMessage[list[Prompt]](lambda _: [])
"""By the last message of a prompt, the newest one that ends with it."""
