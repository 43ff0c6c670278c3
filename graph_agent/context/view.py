"""Builds the part of a thread that a model is shown, from its messages and the cut."""

from functools import lru_cache
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from graph_agent.context.exchanges import Exchange, exchanges
from graph_agent.context.tokens import message_tokens, text_tokens
from graph_agent.models.wire import PerMessage
from graph_agent.prompts import SUMMARY, TRIMMED
from graph_agent.state import AgentState, said_by_user

SHRUNK_TOKENS = 40
"""Tokens of an old result, mark included."""
MARKER_TOKENS = 16
"""Tokens kept free for the marker of a cut."""
RESULTS_CAPS = 2
"""The results of one reply share this many times what one message may take."""


def prompt_view(state: AgentState, *, message_cap: int) -> list[BaseMessage]:
    """List what a model is shown, oldest first, without the system prompt.

    What the user said in this run stays wherever the cut is; the summary stands for the rest. A
    message over `message_cap` tokens keeps its head and tail.
    """
    before = state.messages[state.turn["start"] : state.cut]
    said = [clipped(message, message_cap) for message in before if said_by_user(message)]
    summary = [_summary(state.summary)] if state.summary else []
    after = (
        message
        for piece in exchanges(state.messages, state.cut)
        for message in shown(piece, message_cap, shrunk=piece.start < state.shrunk)
    )
    return [*said, *summary, *after]


@lru_cache(maxsize=256)
def _summary(content: str) -> BaseMessage:
    """Make a summary's message, the same one each time, so that it is encoded once."""
    return HumanMessage(SUMMARY.format(content=content))


def shown(piece: Exchange, cap: int, *, shrunk: bool = False) -> list[BaseMessage]:
    """List what a model is shown of an exchange, each message within its cap.

    System messages are part of the system prompt, and many endpoints refuse a reply with neither
    text nor calls. Many results share what a few may take.
    """
    first, *results = piece.messages
    if isinstance(first, SystemMessage) or _is_silent(first):
        return []
    share = min(cap, RESULTS_CAPS * cap // max(1, len(results)))
    if shrunk:
        share = min(share, SHRUNK_TOKENS)
    return [clipped(first, cap), *(clipped(result, share) for result in results)]


def clipped(message: BaseMessage, cap: int) -> BaseMessage:
    """Return the message, or a copy that keeps head and tail where it takes over `cap` tokens.

    Only text is cut: where calls or images take the room, the message stays as it is.
    """
    if message_tokens(message) <= cap:
        return message
    known = _SHORT(message)
    if cap not in known:
        known[cap] = _shorten(message, cap)
    return known[cap] or message


_SHORT: Final = PerMessage[dict[int, BaseMessage | None]](lambda _: {})
"""Shortened copies by cap, so that the same copy is shown (and encoded) each time."""


def _is_silent(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and not (message.tool_calls or message.text.strip())


def _shorten(message: BaseMessage, cap: int) -> BaseMessage | None:
    """Keep as much of head and tail, in equal parts, as fits the cap; None: nothing to gain."""
    text, tokens = message.text, text_tokens(message.text)
    if tokens <= MARKER_TOKENS:
        return None
    room = max(0, cap - (message_tokens(message) - tokens) - MARKER_TOKENS)
    half = int(len(text) * min(1, room / tokens)) // 2
    while half and text_tokens(text[:half] + text[-half:]) > room:
        half = half * 9 // 10
    head, tail = text[:half], text[len(text) - half :]
    marker = TRIMMED.format(tokens=tokens - text_tokens(head + tail))
    return message.model_copy(update={"content": _content(message, f"{head}\n{marker}\n{tail}")})


def _content(message: BaseMessage, text: str) -> str | list[str | dict[Any, Any]]:
    if isinstance(message.content, str):
        return text
    blocks = (block for block in message.content if isinstance(block, dict))
    return [{"type": "text", "text": text}, *(b for b in blocks if b.get("type") != "text")]
