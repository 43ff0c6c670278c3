"""What a run did, read from its messages: step records, the trace in words, the fallback answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from graph_agent.context.exchanges import exchanges
from graph_agent.context.shortening import fitted
from graph_agent.context.tokens import text_tokens
from graph_agent.draft import answer_draft
from graph_agent.models.images import words_of
from graph_agent.prompts import EARLIER_STEPS, NOTHING_FOUND, REPEATED_CALL, UNFINISHED
from graph_agent.state import AgentState, is_question, marked

FOUND_CHARS = 200
"""Characters of each result that the fallback answer shows."""
LEAST_RESULT_CHARS = 200
"""Characters of each result below which old steps are left out instead."""


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """One tool call and how it went."""

    iteration: int
    """The loop's model call that asked for it, from 1."""
    call_id: str
    tool_name: str
    tool_args: dict[str, Any]
    observation: str
    """What the model read."""
    error: bool
    seconds: float


def run_messages(state: AgentState) -> list[BaseMessage]:
    """List the messages of the run in progress, its question first."""
    return list(state.messages[state.turn["start"] :])


def step_records(messages: Sequence[BaseMessage]) -> list[StepRecord]:
    """List the tool calls of `messages`, in order."""
    return list(_records(messages))


def _records(messages: Sequence[BaseMessage]) -> Iterator[StepRecord]:
    for exchange in exchanges(messages):
        reply = exchange.messages[0]
        if not isinstance(reply, AIMessage):
            continue
        for call, result in zip(reply.tool_calls, exchange.messages[1:], strict=True):
            yield StepRecord(
                iteration=result.response_metadata.get("iteration", 0),
                call_id=call["id"] or "",
                tool_name=call["name"],
                tool_args=call["args"],
                observation=result.text,
                error=isinstance(result, ToolMessage) and result.status == "error",
                seconds=result.response_metadata.get("seconds", 0.0),
            )


def trace_text(messages: Sequence[BaseMessage], *, result_chars: int) -> str:
    """Write down the run for the synthesis: thoughts, calls and results, each result cut."""
    return "\n".join(_steps(messages, result_chars))


def fitted_trace(
    messages: Sequence[BaseMessage], *, result_chars: int, room: int, summary: str = ""
) -> str:
    """Write down the run in at most `room` tokens: results are cut more, then old steps go.

    Args:
        messages: Those of the run.
        result_chars: Characters of each result, where there is room.
        room: Tokens that it may take.
        summary: Of the run's beginning; stands for the steps that are left out.
    """
    trace = trace_text(messages, result_chars=result_chars)
    while text_tokens(trace) > room and result_chars > LEAST_RESULT_CHARS:
        result_chars = max(LEAST_RESULT_CHARS, result_chars // 2)
        trace = trace_text(messages, result_chars=result_chars)
    if text_tokens(trace) <= room:
        return trace
    return _newest_steps([*_steps(messages, result_chars)], room, summary)


def _newest_steps(steps: Sequence[str], room: int, summary: str) -> str:
    """Keep as many of the newest steps as fit, behind the summary, which takes half at most."""
    summary = fitted(summary, room // 2)
    left, first = room - text_tokens(EARLIER_STEPS.format(count=0, summary=summary)), len(steps)
    while first and (left := left - text_tokens(steps[first - 1]) - 1) >= 0:
        first -= 1
    return "\n".join([EARLIER_STEPS.format(count=first, summary=summary), *steps[first:]])


def _steps(messages: Sequence[BaseMessage], result_chars: int) -> Iterator[str]:
    return (line for piece in exchanges(messages) for line in _told(piece.messages, result_chars))


def _told(messages: Sequence[BaseMessage], result_chars: int) -> Iterator[str]:
    first = messages[0]
    if isinstance(first, AIMessage) and marked(first) != "unreadable":
        if first.text:
            yield first.text
        for call, result in zip(first.tool_calls, messages[1:], strict=True):
            args = ", ".join(f"{k}={orjson.dumps(v).decode()}" for k, v in call["args"].items())
            yield f"{call['name']}({args}) -> {_cut(_given(result.text), result_chars)}"


def without_draft(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """List the messages of a run but its draft, which whoever writes the answer is given apart."""
    draft = answer_draft(messages)
    return [message for message in messages if message is not draft]


def question_text(messages: Sequence[BaseMessage]) -> str:
    """Join the user's messages that a run answers."""
    return "\n\n".join(words_of(message) for message in messages if is_question(message))


def interrupts_text(messages: Sequence[BaseMessage]) -> str:
    """Join what the user added during the run."""
    added = (m for m in messages if isinstance(m, HumanMessage) and marked(m) == "interrupt")
    return "\n\n".join(message.text for message in added)


def fallback_answer(state: AgentState) -> str:
    """Return the loop's own last text, or, at a limit, what its steps did and found."""
    messages = run_messages(state)
    draft = answer_draft(messages)
    if draft is not None and draft.text.strip():
        return draft.text
    records = step_records(messages)
    if not records:
        return NOTHING_FOUND
    lines = "\n".join(_line(record) for record in records)
    return UNFINISHED.format(steps=lines)


def _line(record: StepRecord) -> str:
    outcome = "failed" if record.error else "found"
    return f"- `{record.tool_name}` {outcome}: {_cut(_given(record.observation), FOUND_CHARS)}"


def _given(text: str) -> str:
    """Return a result as the tool gave it, without what we told the model beside it."""
    return text.removesuffix(REPEATED_CALL)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"
