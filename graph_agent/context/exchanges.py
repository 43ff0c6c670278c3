"""Cuts a history into pieces that must stay together: a reply with its results, or one message."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from graph_agent.message_cache import PerMessage
from graph_agent.prompts import CALL_CANCELLED


@dataclass(frozen=True)
class Exchange:
    """Messages that are only ever kept or dropped together."""

    start: int
    """Index of the first one in the history."""
    messages: tuple[BaseMessage, ...]


def exchanges(history: Sequence[BaseMessage], start: int = 0) -> Iterator[Exchange]:
    """Cut `history[start:]` into exchanges.

    Whatever the history looks like, what comes out is well formed: each call has exactly one
    result right after its reply, in the order of the calls. A call without a result gets one that
    says it was cancelled; a result without a call is left out.
    """
    index = start
    while index < len(history):
        message = history[index]
        if isinstance(message, AIMessage) and message.tool_calls:
            end = index + 1
            while end < len(history) and isinstance(history[end], ToolMessage):
                end += 1
            yield Exchange(index, (message, *_paired(message, history[index + 1 : end])))
            index = end
        else:
            if not isinstance(message, ToolMessage):
                yield Exchange(index, (message,))
            index += 1


def _paired(reply: AIMessage, results: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    found = {r.tool_call_id: r for r in reversed(results) if isinstance(r, ToolMessage)}
    for call in reply.tool_calls:
        yield found.get(call["id"] or "") or _cancelled(reply, call)


def _cancelled(reply: AIMessage, call: ToolCall) -> ToolMessage:
    call_id, known = call["id"] or "", _STAND_INS(reply)
    if call_id not in known:
        known[call_id] = ToolMessage(
            CALL_CANCELLED, tool_call_id=call_id, name=call["name"], status="error"
        )
    return known[call_id]


_STAND_INS: Final = PerMessage[dict[str, ToolMessage]](lambda _: {})
"""Stand-ins by call id for each reply, so that the same one is shown (and encoded) each time."""
