"""Says what a model is shown of each exchange, and of what the user said before the cut."""

from collections.abc import Iterator
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from graph_agent.context.exchanges import Exchange
from graph_agent.context.shortening import clipped
from graph_agent.context.tokens import message_tokens
from graph_agent.state import AgentState, said_by_user

SHRUNK_TOKENS = 40
"""Tokens of an old result, mark included."""
RESULTS_CAPS = 2
"""The results of one reply share this many times what one message may take."""


@dataclass(frozen=True)
class Caps:
    """What parts of a prompt may take; tokens."""

    message: int
    """One message."""
    pinned: int
    """What the user said in this run, where it lies before the cut."""

    def lowered(self, message: int) -> "Caps":
        """Return the caps with a lower one for each message; 0 changes nothing."""
        return Caps(min(message, self.message), self.pinned) if message else self


def pinned(state: AgentState, cut: int, caps: Caps) -> list[BaseMessage]:
    """List what stays of the messages before a cut, oldest first: what the user said in this run.

    Over their share the oldest go, but never the question and the newest.
    """
    said = [m for m in state.messages[state.turn["start"] : cut] if said_by_user(m)]
    kept = [clipped(message, caps.message) for message in said]
    if len(kept) <= 2:
        return kept
    question, *others, newest = kept
    return [question, *_newest_within(others, caps.pinned - _size(question, newest)), newest]


def _newest_within(messages: list[BaseMessage], room: int) -> list[BaseMessage]:
    first = len(messages)
    while first and (room := room - message_tokens(messages[first - 1])) >= 0:
        first -= 1
    return messages[first:]


def _size(*messages: BaseMessage) -> int:
    return sum(map(message_tokens, messages))


def shown(piece: Exchange, cap: int, *, shrunk: bool = False) -> Iterator[BaseMessage]:
    """Yield what a model is shown of an exchange, each message within its cap.

    System messages are part of the system prompt, and many endpoints refuse a reply with neither
    text nor calls. Many results share what a few may take.
    """
    first, *results = piece.messages
    if isinstance(first, SystemMessage) or _is_silent(first):
        return
    share = min(cap, RESULTS_CAPS * cap // max(1, len(results)))
    if shrunk:
        share = min(share, SHRUNK_TOKENS)
    yield clipped(first, cap)
    for result in results:
        yield clipped(result, share)


def _is_silent(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and not (message.tool_calls or message.text.strip())
