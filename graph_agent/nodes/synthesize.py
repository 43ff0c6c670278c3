"""Ends a run: writes the answer, as a stream, from the whole trace."""

import logging
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages import SystemMessage as System
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter

from graph_agent.deps import Deps
from graph_agent.errors import ModelError
from graph_agent.events import (
    AnswerDelta,
    AnswerDone,
    AnswerReset,
    AnswerSignal,
    AnswerStart,
    Done,
    End,
    emit,
)
from graph_agent.nodes.drain_interrupts import drain
from graph_agent.plain_text import plain_text
from graph_agent.prompts import (
    LIMIT_NOTE,
    SYNTHESIS_DRAFT,
    SYNTHESIS_INTERRUPTS,
    SYNTHESIS_SYSTEM,
    SYNTHESIS_USER,
)
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, RunUsage, StopReason, Update, pending_answer
from graph_agent.trace import (
    fallback_answer,
    fitted_trace,
    interrupts_text,
    question_text,
    run_messages,
    step_records,
)
from graph_agent.usage import add_usage, no_usage, usage_of

logger = logging.getLogger(__name__)


async def synthesize(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
    """Stream the answer, and end the run unless a message came meanwhile.

    Reads the messages of the run. The answer takes the place of the loop's draft, which it keeps
    in `additional_kwargs["draft"]`; at a limit, where there is no draft, it is added.
    """
    deps = deps.for_run(runtime)
    reason: StopReason = "final" if pending_answer(state.messages) else "max_iterations"
    answer, usage = await _answer(state, runtime, deps, reason)
    message = _placed(state, answer)
    added = await drain(state, runtime)
    if added is not None:
        limit = max(state.iteration_limit, state.iteration + deps.settings.max_iterations)
        return Update(messages=[message, added], usage=usage, iteration_limit=limit)
    _end(state, runtime, deps, answer, usage, reason)
    return Update(messages=[message], usage=usage, answer=answer, stop_reason=reason)


async def _answer(
    state: AgentState, runtime: Runtime[RunOptions], deps: Deps, reason: StopReason
) -> tuple[str, RunUsage]:
    """Write the answer's events, and return the text that was shown in the end."""
    write = runtime.stream_writer
    emit(write, AnswerSignal())
    emit(write, AnswerStart())
    try:
        return await _written(state, deps, write, reason)
    finally:
        emit(write, AnswerDone())


async def _written(
    state: AgentState, deps: Deps, write: StreamWriter, reason: StopReason
) -> tuple[str, RunUsage]:
    """Write the answer's text: the synthesis, else the loop's own, and a note at a limit."""
    shown, usage = "", state.usage or no_usage()
    if _wanted(state, deps):
        shown, reported = await _streamed(state, deps, write)
        usage = add_usage(usage, "synthesize", usage_of(reported))
    if not shown:
        shown = fallback_answer(state)
        emit(write, AnswerDelta(content=shown))
    if reason == "max_iterations":
        note = LIMIT_NOTE.format(limit=state.iteration)
        shown += note
        emit(write, AnswerDelta(content=note))
    return shown, usage


async def _streamed(state: AgentState, deps: Deps, write: StreamWriter) -> tuple[str, AIMessage]:
    """Stream the synthesis; return its text, empty where it failed, and the reported usage."""
    shown, reported, failed = "", AIMessage(""), False
    try:
        async for chunk in deps.model.stream(_request(state, deps)):
            if chunk.usage_metadata:
                reported = AIMessage("", usage_metadata=chunk.usage_metadata)
            if text := plain_text(chunk.text):
                shown += text
                emit(write, AnswerDelta(content=text))
    except ModelError as error:
        # The loop's own text is an answer too: less polished, but there.
        logger.warning("synthesis failed: %s", error)
        failed = True
    if failed or not shown.strip():
        if shown:
            emit(write, AnswerReset())
        return "", reported
    return shown, reported


def _wanted(state: AgentState, deps: Deps) -> bool:
    """Tell whether a second call writes the answer."""
    wanted = deps.settings.synthesis
    ran_tools = any(True for _ in step_records(run_messages(state)))
    return wanted == "always" or (wanted == "auto" and ran_tools)


def _request(state: AgentState, deps: Deps) -> list[BaseMessage]:
    messages = run_messages(state)
    draft = pending_answer(messages)
    added = interrupts_text(messages)
    trace = fitted_trace(
        messages[:-1] if draft else messages,
        result_chars=deps.settings.synthesis_tool_result_chars,
        room=deps.budget,
    )
    return [
        System(SYNTHESIS_SYSTEM),
        HumanMessage(
            SYNTHESIS_USER.format(
                question=question_text(messages),
                interrupts=SYNTHESIS_INTERRUPTS.format(content=added) if added else "",
                trace=trace,
                draft=SYNTHESIS_DRAFT.format(content=draft.text) if draft else "",
            )
        ),
    ]


def _placed(state: AgentState, answer: str) -> AIMessage:
    draft = pending_answer(state.messages)
    kept: dict[str, Any] = {"kind": "answer"}
    if draft is None:
        return AIMessage(answer, id=str(uuid4()), additional_kwargs=kept)
    kept |= {"draft": draft.text} if draft.text != answer else {}
    return AIMessage(answer, id=draft.id, additional_kwargs=draft.additional_kwargs | kept)


def _end(
    state: AgentState,
    runtime: Runtime[RunOptions],
    deps: Deps,
    answer: str,
    usage: RunUsage,
    reason: StopReason,
) -> None:
    thread_id = runtime.execution_info.thread_id if runtime.execution_info else None
    done = Done(
        answer=answer,
        iterations=state.iteration,
        usage=usage,
        elapsed=round(deps.now() - state.turn["started_at"], 3),
        stop_reason=reason,
        thread_id=thread_id or "",
        run_id=state.turn["run_id"],
    )
    emit(runtime.stream_writer, done)
    emit(runtime.stream_writer, End())
