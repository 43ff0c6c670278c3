"""Keeps a run on course: a reminder of the goal at times, and one check of the answer.

Both are messages of ours in the thread, never the user's words. All is decided from the messages,
so a run that is resumed decides the same, and nothing happens twice.
"""

from collections.abc import Sequence
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from graph_agent.message_cache import PerThread
from graph_agent.prompts import COMPLETION_CHECK, GOAL_ADDED, REMINDER
from graph_agent.state import AgentState, Kind, is_at_limit, marked, pending_answer
from graph_agent.trace import question_text, run_messages

QUESTION_CHARS = 300
"""Characters of the question that a guard names."""


def reminder(
    state: AgentState, added: Sequence[BaseMessage], *, interval: int
) -> HumanMessage | None:
    """Make the reminder that follows the results of the newest calls, where one is due.

    Args:
        state: A thread whose newest message is a reply with calls.
        added: Their results, and what joins the thread with them.
        interval: Tool iterations between two reminders; 0 means never.
    """
    if interval == 0 or is_at_limit(state) or _tool_iterations(state) % interval:
        return None
    return _ours("reminder", REMINDER, [*run_messages(state), *added])


def completion_check(state: AgentState, *, minimum: int) -> HumanMessage | None:
    """Make the check of the answer that is the newest message, where one is due.

    Args:
        state: A thread in whose queue no message waits.
        minimum: Tool iterations from which an answer is checked; 0 means never.
    """
    draft = pending_answer(state.messages)
    if minimum == 0 or is_at_limit(state) or draft is None or not draft.text.strip():
        return None
    if marked(draft) == "answer":
        return None  # The user was shown it.
    messages = run_messages(state)
    was_made = any(marked(message) == "check" for message in messages)
    if was_made or _tool_iterations(state) < minimum:
        return None
    return _ours("check", COMPLETION_CHECK, messages)


def _tool_iterations(state: AgentState) -> int:
    return _ITERATIONS(state.messages, state.turn["start"])


def _with_next(iterations: int, message: BaseMessage) -> int:
    return iterations + (isinstance(message, AIMessage) and bool(message.tool_calls))


_ITERATIONS: Final = PerThread(int, _with_next)


def _ours(kind: Kind, text: str, messages: Sequence[BaseMessage]) -> HumanMessage:
    added = any(marked(message) == "interrupt" for message in messages)
    content = text.format(
        question=_shortened(question_text(messages)), added=GOAL_ADDED if added else ""
    )
    # Named after what it follows, so that adding it twice is adding it once.
    return HumanMessage(content, id=f"{messages[-1].id}-{kind}", additional_kwargs={"kind": kind})


def _shortened(question: str) -> str:
    line = " ".join(question.split())
    return line if len(line) <= QUESTION_CHARS else f"{line[:QUESTION_CHARS]}…"
