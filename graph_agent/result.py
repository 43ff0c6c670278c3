"""What a run gave, as Python code gets it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from langchain_core.messages import BaseMessage, SystemMessage

from graph_agent.answer_form import Instance, instance
from graph_agent.state import AgentState, RunUsage, StopReason
from graph_agent.structured.shape import Schema
from graph_agent.trace import StepRecord, step_records
from graph_agent.usage import no_usage


@dataclass(frozen=True, kw_only=True)
class AgentResult:
    """What a run gave."""

    answer: str
    messages: list[BaseMessage]
    """The whole thread: system, user, every assistant and tool message."""
    steps: list[StepRecord]
    """The tool calls of this run, in order."""
    iterations: int
    """Model calls of the loop."""
    usage: RunUsage
    elapsed: float
    """Seconds."""
    stop_reason: StopReason
    structured: Instance
    """The answer as data: an instance where `response_format` was a pydantic model, else a dict."""
    structured_error: str | None
    """Why there are no such data though they were asked for."""
    thread_id: str
    run_id: str

    @classmethod
    def of(
        cls,
        done: Mapping[str, Any],
        state: AgentState,
        *,
        system_prompt: str,
        response_format: Schema | None = None,
    ) -> Self:
        """Join what the run's `done` event tells with what its thread holds."""
        structured, misfit = instance(state.structured, response_format)
        return cls(
            answer=done["answer"],
            messages=[SystemMessage(system_prompt), *state.messages],
            steps=step_records(state.messages[state.turn["start"] :]),
            iterations=done["iterations"],
            usage=state.usage or no_usage(),
            elapsed=done["elapsed"],
            stop_reason=done["stop_reason"],
            structured=structured,
            structured_error=state.structured_error or misfit,
            thread_id=done["thread_id"],
            run_id=done["run_id"],
        )
