"""Gives a run's answer as data too, where a `response_format` asks for it."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from graph_agent.answer_form import form_of
from graph_agent.context.tokens import text_tokens
from graph_agent.deps import Deps
from graph_agent.errors import ModelError
from graph_agent.event_sink import options_of
from graph_agent.models.fallbacks import another_may_do
from graph_agent.prompts import STRUCTURED_ANSWER_SYSTEM, STRUCTURED_ANSWER_USER
from graph_agent.record import fitted_record
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update, Usage
from graph_agent.structured import Schema, structured_llm_call
from graph_agent.structured.shape import json_schema_of
from graph_agent.usage import usage_of

logger = logging.getLogger(__name__)

OUT_OF_TIME = "The run's time is up."
NAME = "answer"
"""What the data are called in a request."""
FORM_ROOM = 2
"""Times that a request may hold the schema: as the form, and in words."""
REST_TOKENS = 500
"""Kept free for what stands around the record, and for a request to correct."""


@dataclass(frozen=True, kw_only=True)
class StructuredAnswer:
    """The answer as data, or why there are none."""

    data: dict[str, Any] | None
    error: str | None
    usage: Usage

    def update(self) -> Update:
        """Return what the state keeps of it."""
        return Update(structured=self.data, structured_error=self.error)


async def structured_answer(
    state: AgentState,
    runtime: Runtime[RunOptions],
    deps: Deps,
    *,
    answer: str,
    seconds: float | None = None,
) -> StructuredAnswer | None:
    """Make the data from the whole trace of the run; None where nobody asked for them.

    A failure costs the data only: the answer stands, and the run ends as it would have.

    Args:
        state: Of a run that has its answer.
        runtime: Holds the run's own `response_format`, which goes before the agent's.
        deps: Of this run.
        answer: What the user was shown.
        seconds: That the run may still take; None means as long as it likes.
    """
    form = form_of(options_of(runtime)) or deps.response_format
    if form is None:
        return None
    try:
        async with asyncio.timeout(seconds):
            made = await _made(state, deps, form, answer)
    except (ModelError, TimeoutError) as error:
        made = StructuredAnswer(data=None, error=str(error) or OUT_OF_TIME, usage=usage_of())
    if made.error:
        logger.warning("the answer of run %s has no data: %s", state.turn["run_id"], made.error)
    return made


async def _made(state: AgentState, deps: Deps, form: Schema, answer: str) -> StructuredAnswer:
    """Ask the model in use, and after it those that may take over.

    Raises:
        ModelError: Every one failed.
    """
    while True:
        request = _request(state, deps, form, answer)
        try:
            got = await structured_llm_call(
                deps.model, request, form, name=NAME, default_value=None
            )
        except ModelError as error:
            if not (deps.fallbacks and another_may_do(error)):
                raise
            logger.warning("model %s gave no data: %s", deps.model.name, error)
            deps = deps.using(deps.fallbacks[0].name)
        else:
            return StructuredAnswer(data=got.raw, error=got.fault, usage=got.usage)


def _request(state: AgentState, deps: Deps, schema: Schema, answer: str) -> list[BaseMessage]:
    form = FORM_ROOM * text_tokens(str(json_schema_of(schema)))
    record = fitted_record(
        state,
        room=deps.budget - form - text_tokens(answer) - REST_TOKENS,
        result_chars=deps.settings.synthesis_tool_result_chars,
        with_draft=False,
    )
    request = STRUCTURED_ANSWER_USER.format(
        question=record.question, interrupts=record.interrupts, trace=record.trace, answer=answer
    )
    return [SystemMessage(STRUCTURED_ANSWER_SYSTEM), HumanMessage(request)]
