"""Sums up the part of a thread that leaves the prompt, in one rolling summary."""

from collections.abc import Iterator, Sequence

import orjson
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from graph_agent.context.exchanges import exchanges
from graph_agent.context.tokens import text_tokens
from graph_agent.models.language_model import LanguageModel
from graph_agent.prompts import SUMMARIZE, SUMMARIZE_REQUEST, SUMMARY_SO_FAR, SummaryHint
from graph_agent.state import said_by_user

RESULT_CHARS = 600
"""Characters of each tool result that the summariser reads."""
REQUEST_SHARE = 0.6
"""Share of the room that the text may take; the prompt and a wrong estimate need the rest."""
FEWEST_CHARS = 400
"""Characters of a piece below which it is not cut further."""


async def summarized(
    model: LanguageModel,
    previous: str,
    messages: Sequence[BaseMessage],
    *,
    hint: SummaryHint,
    room: int,
    cap: int,
) -> tuple[str, list[AIMessage]]:
    """Fold messages into the summary so far.

    What is too long for the model's own window is folded in several calls.

    Args:
        model: Who sums up.
        previous: The summary so far, or nothing.
        messages: What leaves the prompt.
        hint: What kind of text it is.
        room: Tokens that one request may take.
        cap: Tokens that the summary may take; a longer one is cut.

    Returns:
        The new summary, empty where the model gave none, and the replies (for their usage).

    Raises:
        ModelError: The endpoint failed.
    """
    summary, replies = previous, []
    for text in _chunks(list(_told(messages)), int(room * REQUEST_SHARE) - cap):
        so_far = SUMMARY_SO_FAR.format(content=summary) if summary else ""
        request = SUMMARIZE_REQUEST.format(so_far=so_far, text=text)
        reply = await model.ask([SystemMessage(SUMMARIZE[hint]), HumanMessage(request)])
        replies.append(reply)
        summary = _within(reply.text.strip(), cap)
        if not summary:
            break
    return summary, replies


def _told(messages: Sequence[BaseMessage]) -> Iterator[str]:
    """Write down a conversation, one line or more for each message."""
    for exchange in exchanges(messages):
        first, *results = exchange.messages
        who = "User" if isinstance(first, HumanMessage) else "Assistant"
        if first.text.strip() and not _is_ours(first):
            yield f"{who}: {first.text}"
        calls = first.tool_calls if isinstance(first, AIMessage) else []
        for call, result in zip(calls, results, strict=True):
            arguments = orjson.dumps(call["args"], default=str).decode()
            yield f"{call['name']}({arguments}) -> {_short(result.text, RESULT_CHARS)}"


def _is_ours(message: BaseMessage) -> bool:
    """Tell whether the message is a request of ours, or part of the system prompt."""
    asked = isinstance(message, HumanMessage) and not said_by_user(message)
    return asked or isinstance(message, SystemMessage)


def _chunks(lines: Sequence[str], room: int) -> Iterator[str]:
    """Join lines to texts of at most `room` tokens; a line that is longer is cut."""
    chunk: list[str] = []
    left = room
    for line in (_within(line, room) for line in lines):
        tokens = text_tokens(line)
        if chunk and tokens > left:
            yield "\n".join(chunk)
            chunk, left = [], room
        chunk.append(line)
        left -= tokens
    if chunk:
        yield "\n".join(chunk)


def _within(text: str, tokens: int) -> str:
    while text_tokens(text) > tokens and len(text) > FEWEST_CHARS:
        text = _short(text, len(text) * 3 // 4)
    return text


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
