"""Sums up the part of a thread that leaves the prompt, in one rolling summary."""

import logging
from collections.abc import Iterator, Sequence

import orjson
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from graph_agent.context.exchanges import exchanges
from graph_agent.context.shortening import fitted
from graph_agent.context.tokens import text_tokens
from graph_agent.errors import ModelError
from graph_agent.models.language_model import LanguageModel
from graph_agent.plain_text import plain_text
from graph_agent.prompts import (
    SUMMARIZE,
    SUMMARIZE_REQUEST,
    SUMMARY_QUESTION,
    SUMMARY_SO_FAR,
    SummaryHint,
)
from graph_agent.state import said_by_user

logger = logging.getLogger(__name__)

RESULT_TOKENS = 500
"""Tokens of each tool result that are read, where `MOST_CALLS` calls can do it."""
MOST_CALLS = 3
"""Calls that one summary takes; results are cut so far that it does."""
LEAST_RESULT_TOKENS = 100
"""Tokens of each result that are read, however many there are."""
ROOM_SHARE = 0.85
"""Share of the room that is used; our count may be a little low, and the reply needs its own."""


async def summarized(
    model: LanguageModel,
    previous: str,
    messages: Sequence[BaseMessage],
    *,
    hint: SummaryHint,
    room: int,
    cap: int,
    question: str = "",
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
        question: What the work is for.

    Returns:
        The new summary, empty where the model gave none, and the replies (for their usage). Where
        a later call fails, it holds what the calls before it gave.

    Raises:
        ModelError: The endpoint failed at once.
    """
    summary, told = previous, False
    replies: list[AIMessage] = []
    asked = SUMMARY_QUESTION.format(content=fitted(question, cap)) if question else ""
    around = text_tokens(SUMMARIZE[hint]) + text_tokens(asked) + cap
    size = int(room * ROOM_SHARE) - around
    for text in _chunks(list(_told(messages, _result_tokens(messages, size))), size):
        so_far = SUMMARY_SO_FAR.format(content=summary) if summary else ""
        request = SUMMARIZE_REQUEST.format(question=asked, so_far=so_far, text=text)
        try:
            reply = await model.ask([SystemMessage(SUMMARIZE[hint]), HumanMessage(request)])
        except ModelError as error:
            if not replies:
                raise
            logger.warning("a part of the history is not summed up: %s", error)
            break
        replies.append(reply)
        if not reply.text.strip():
            break
        summary, told = fitted(plain_text(reply.text.strip()), cap), True
    return (summary if told else ""), replies


def _result_tokens(messages: Sequence[BaseMessage], size: int) -> int:
    """Return how much of each result is read: all in one call, or a fair part in a few."""
    results = max(1, sum(isinstance(message, ToolMessage) for message in messages))
    fair = min(RESULT_TOKENS, MOST_CALLS * size // results)
    return max(LEAST_RESULT_TOKENS, size // results, fair)


def _told(messages: Sequence[BaseMessage], result_tokens: int) -> Iterator[str]:
    """Write down a conversation, one line or more for each message."""
    for exchange in exchanges(messages):
        first, *results = exchange.messages
        who = "User" if isinstance(first, HumanMessage) else "Assistant"
        if first.text.strip() and not _is_ours(first):
            yield f"{who}: {first.text}"
        calls = first.tool_calls if isinstance(first, AIMessage) else []
        for call, result in zip(calls, results, strict=True):
            arguments = orjson.dumps(call["args"], default=str).decode()
            yield f"{call['name']}({arguments}) -> {fitted(result.text, result_tokens)}"


def _is_ours(message: BaseMessage) -> bool:
    """Tell whether the message is a request of ours, or part of the system prompt."""
    asked = isinstance(message, HumanMessage) and not said_by_user(message)
    return asked or isinstance(message, SystemMessage)


def _chunks(lines: Sequence[str], room: int) -> Iterator[str]:
    """Join lines to texts of at most `room` tokens; a line that is longer is cut."""
    chunk: list[str] = []
    left = room
    for line in (fitted(line, room) for line in lines):
        tokens = text_tokens(line)
        if chunk and tokens > left:
            yield "\n".join(chunk)
            chunk, left = [], room
        chunk.append(line)
        left -= tokens
    if chunk:
        yield "\n".join(chunk)
