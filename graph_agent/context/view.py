"""Builds the part of a thread that a model is shown, from its messages and the cut."""

from collections.abc import Iterator, Sequence
from typing import Final

from langchain_core.messages import BaseMessage, SystemMessage

from graph_agent.context.exchanges import exchanges
from graph_agent.context.tokens import MESSAGE_OVERHEAD, message_tokens
from graph_agent.models.wire import PerMessage
from graph_agent.prompts import TRIMMED
from graph_agent.state import AgentState, marked


def prompt_view(state: AgentState, *, message_cap: int) -> list[BaseMessage]:
    """List what a model is shown, oldest first, without the system prompt.

    The question of the run and pinned messages stay wherever the cut is. A message over
    `message_cap` tokens keeps its head and tail.
    """
    kept = [*_kept_before(state), *_after(state.messages, state.cut)]
    return [clipped(message, message_cap) for message in kept]


def clipped(message: BaseMessage, cap: int) -> BaseMessage:
    """Return the message, or a copy that keeps head and tail where it takes over `cap` tokens."""
    if message_tokens(message) <= cap:
        return message
    short = _SHORT(message)
    if cap not in short:
        short[cap] = _shorten(message, cap)
    return short[cap]


def _kept_before(state: AgentState) -> Iterator[BaseMessage]:
    question = state.turn["start"]
    for index, message in enumerate(state.messages[: state.cut]):
        if index == question or (marked(message) == "interrupt" and index > question):
            yield message


def _after(messages: Sequence[BaseMessage], cut: int) -> Iterator[BaseMessage]:
    for exchange in exchanges(messages, cut):
        yield from (m for m in exchange.messages if not isinstance(m, SystemMessage))


_SHORT: Final = PerMessage[dict[int, BaseMessage]](lambda _: {})
"""Shortened copies by cap, so that the same copy is shown (and encoded) each time."""


def _shorten(message: BaseMessage, cap: int) -> BaseMessage:
    """Keep as much of head and tail, in equal parts, as fits the cap."""
    text = message.text
    share = max(0, cap - 4 * MESSAGE_OVERHEAD) / message_tokens(message)
    half = int(len(text) * share) // 2
    marker = TRIMMED.format(tokens=message_tokens(message) - cap)
    head, tail = text[:half], text[len(text) - half :]
    return message.model_copy(update={"content": f"{head}\n{marker}\n{tail}"})
