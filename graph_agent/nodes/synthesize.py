"""Ends a run: writes the answer, as a stream, from the whole trace."""

from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages import SystemMessage as System
from langgraph.runtime import Runtime

from graph_agent.context.tokens import MESSAGE_OVERHEAD, text_tokens
from graph_agent.deps import Deps
from graph_agent.events import (
    AnswerDone,
    AnswerSignal,
    AnswerStart,
    Done,
    End,
    emit,
)
from graph_agent.limits import limit_named
from graph_agent.nodes.drain_interrupts import drain
from graph_agent.nodes.limited import answer_time_left
from graph_agent.nodes.synthesis import Synthesis, synthesis
from graph_agent.prompts import LIMIT_NOTE, SYNTHESIS_SYSTEM, SYNTHESIS_USER
from graph_agent.record import fitted_record
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, StopReason, Update, pending_answer
from graph_agent.structured_answer import StructuredAnswer, structured_answer
from graph_agent.trace import fallback_answer, run_messages, step_records
from graph_agent.usage import add_usage


async def synthesize(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
    """Stream the answer, and end the run unless a message came meanwhile.

    Reads the messages of the run. The answer takes the place of the loop's draft, which it keeps
    in `additional_kwargs["draft"]`; at a limit, where there is no draft, it is added.
    """
    deps = deps.for_run(runtime)
    answered = pending_answer(state.messages) is not None
    reason = state.stop_reason or ("final" if answered else "max_iterations")
    written = await _answer(state, runtime, deps, reason)
    made = await structured_answer(
        state,
        runtime,
        deps.using(written.model),
        answer=written.shown,
        seconds=answer_time_left(state, deps),
    )
    if made:
        written.usage = add_usage(written.usage, "structured", made.usage)
    update = Update(messages=[_placed(state, written.shown)], usage=written.usage)
    if written.turn is not state.turn:
        update["turn"] = written.turn
    added = await drain(state, runtime)
    if added is not None:
        limit = max(state.iteration_limit, state.iteration + deps.settings.max_iterations)
        messages = [*update["messages"], added]
        return Update(
            **{**update, "messages": messages, "iteration_limit": limit, "stop_reason": None}
        )
    _end(state, runtime, deps, written, reason, made)
    kept = made.update() if made else {}
    return Update(**{**update, **kept, "answer": written.shown, "stop_reason": reason})


async def _answer(
    state: AgentState, runtime: Runtime[RunOptions], deps: Deps, reason: StopReason
) -> Synthesis:
    """Write the answer's events; what is shown in the end is the synthesis, or the loop's text."""
    write = runtime.stream_writer
    emit(write, AnswerSignal())
    emit(write, AnswerStart())
    try:
        written = Synthesis.of(state)
        if _wanted(state, deps):
            await synthesis(written, state, deps, write, request=_request)
        if not written.shown:
            written.show(fallback_answer(state), write)
        if reason != "final":
            written.show(_limit_note(state, deps, reason), write)
        return written
    finally:
        emit(write, AnswerDone())


def _limit_note(state: AgentState, deps: Deps, reason: StopReason) -> str:
    limit = limit_named(reason, state.usage, deps.settings, iterations=state.iteration)
    return LIMIT_NOTE.format(limit=limit)


def _wanted(state: AgentState, deps: Deps) -> bool:
    """Tell whether a second call writes the answer."""
    wanted = deps.settings.synthesis
    ran_tools = any(True for _ in step_records(run_messages(state)))
    return wanted == "always" or (wanted == "auto" and ran_tools)


def _request(state: AgentState, deps: Deps) -> list[BaseMessage]:
    taken = text_tokens(SYNTHESIS_SYSTEM) + text_tokens(SYNTHESIS_USER) + 2 * MESSAGE_OVERHEAD
    record = fitted_record(
        state,
        room=deps.budget - taken,
        result_chars=deps.settings.synthesis_tool_result_chars,
    )
    return [System(SYNTHESIS_SYSTEM), HumanMessage(SYNTHESIS_USER.format(**vars(record)))]


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
    written: Synthesis,
    reason: StopReason,
    made: StructuredAnswer | None,
) -> None:
    thread_id = runtime.execution_info.thread_id if runtime.execution_info else None
    done = Done(
        answer=written.shown,
        iterations=state.iteration,
        usage=written.usage,
        elapsed=round(deps.now() - state.turn["started_at"], 3),
        stop_reason=reason,
        thread_id=thread_id or "",
        run_id=state.turn["run_id"],
        **({"structured": made.data} if made else {}),
    )
    emit(runtime.stream_writer, done)
    emit(runtime.stream_writer, End())
