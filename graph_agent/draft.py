"""Finds the loop's own answer to a run, which the check of it must not make worse."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from graph_agent.state import marked, pending_answer

CONFIRMATION_SHARE = 0.5
"""A reply to the check that is shorter than this share of what was checked only confirms it."""


def answer_draft(messages: Sequence[BaseMessage]) -> AIMessage | None:
    """Return the loop's own answer to a run: the newest, or the one that was checked.

    The one that was checked stands where none came after it, where that one is empty, and where
    the reply to the check is so short that it only confirms. What the user added after the check
    takes its place away: it answers less than was asked.

    Args:
        messages: Those of the run.

    Returns:
        One of `messages`, or None where the loop gave no answer.
    """
    newest = pending_answer(messages)
    index = next((n for n, message in enumerate(messages) if marked(message) == "check"), None)
    if not index:
        return newest
    checked, since = messages[index - 1], messages[index + 1 :]
    if not isinstance(checked, AIMessage) or any(marked(m) == "interrupt" for m in since):
        return newest
    return checked if newest is None or _adds_nothing(newest, checked, since) else newest


def _adds_nothing(newest: AIMessage, checked: AIMessage, since: Sequence[BaseMessage]) -> bool:
    """Tell whether an answer is empty, or a reply to the check that no more than confirms."""
    size = len(newest.text.strip())
    found_more = any(isinstance(message, ToolMessage) for message in since)
    short = size < CONFIRMATION_SHARE * len(checked.text.strip())
    return size == 0 or (short and not found_more)
