"""Tells the end of a run from the thread that it left, where its own events are lost."""

from typing import Any

from graph_agent.errors import ConfigError
from graph_agent.events import (
    AnswerDelta,
    AnswerDone,
    AnswerSignal,
    AnswerStart,
    Done,
    Event,
    WireEvent,
)
from graph_agent.state import AgentState
from graph_agent.usage import no_usage


def ending_events(state: AgentState, thread_id: str, *, now: float) -> list[WireEvent]:
    """Return the events by which a run ended, but for its `end`.

    Args:
        state: Its thread.
        thread_id: The thread's id.
        now: Unix time in seconds.

    Raises:
        ConfigError: It did not end with an answer.
    """
    if state.stop_reason is None:
        raise ConfigError(f"Thread {thread_id} has nothing to resume: nothing is left to do.")
    asked = state.structured is not None or state.structured_error is not None
    data: dict[str, Any] = {"structured": state.structured} if asked else {}
    done = Done(
        answer=state.answer,
        iterations=state.iteration,
        usage=state.usage or no_usage(),
        elapsed=round(now - state.turn["started_at"], 3),
        stop_reason=state.stop_reason,
        thread_id=thread_id,
        run_id=state.turn["run_id"],
        **data,
    )
    answer: list[Event] = [AnswerStart(), AnswerDelta(content=state.answer), AnswerDone()]
    return [event.wire() for event in (AnswerSignal(), *answer, done)]
