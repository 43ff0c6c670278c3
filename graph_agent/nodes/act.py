"""Runs the tool calls of the newest reply, in parallel."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.func import task
from langgraph.runtime import Runtime

from graph_agent.deps import Deps
from graph_agent.events import CallDone, CallStart, emit
from graph_agent.guards import reminder
from graph_agent.hooks import ToolOutcome, ToolUse, called
from graph_agent.nodes.approval import permitted
from graph_agent.nodes.limited import loop_time_left
from graph_agent.nodes.on_record import on_record
from graph_agent.plain_text import plain_text
from graph_agent.repeats import canonical, times_made, warn_of_repeat
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update, open_calls
from graph_agent.tools.run_call import Call, run_call

logger = logging.getLogger(__name__)

WITHHELD = "Error: the result of `{name}` is withheld, for the check of it failed."


async def act(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
    """Run every open call and add the results in the order of the calls, and at times a reminder.

    Reads `messages` and `held`. No call runs before the reply that asks for it is saved: after a
    crash it is the same calls that are open, and at most those of one reply have run already.
    """
    deps = deps.for_run(runtime)
    await on_record(runtime, deps)
    calls = await permitted(_calls(state), state, runtime, deps)
    results = await _results(calls, state, runtime, deps)
    added = [*results, *state.held]
    update = Update(messages=added)
    if state.held:
        update["held"] = []
    most = max((result.response_metadata.get("times", 1) for result in results), default=0)
    # Whoever added something meanwhile may have said what to do instead.
    if most >= deps.settings.repeated_calls_stop and not state.held:
        update["stop_reason"] = "repeated_calls"
    elif ours := reminder(state, added, interval=deps.settings.self_reflection_interval):
        update["messages"] = [*added, ours]
    return update


async def _results(
    calls: Sequence[Call], state: AgentState, runtime: Runtime[RunOptions], deps: Deps
) -> list[ToolMessage]:
    """Run calls in parallel, each as a LangGraph task: after a crash only others run again.

    That needs the order of calls to be always the same. A single one needs no task: the node's own
    result is saved as soon as the task's would be.
    """
    if len(calls) == 1:
        return [await _observed(calls[0], state, runtime, deps)]
    slots = asyncio.Semaphore(deps.settings.tool_concurrency)

    @task
    async def call_tool(call: Call) -> ToolMessage:
        async with slots:
            return await _observed(call, state, runtime, deps)

    return await asyncio.gather(*(call_tool(call) for call in calls))


async def _observed(
    call: Call, state: AgentState, runtime: Runtime[RunOptions], deps: Deps
) -> ToolMessage:
    """Run one call between its two events."""
    shown: dict[str, Any] = {
        "iteration": state.iteration,
        "call_id": call.id,
        "tool_name": call.name,
        "tool_args": call.args,
    }
    emit(runtime.stream_writer, CallStart(**shown))
    left = loop_time_left(state, deps)
    seconds = deps.settings.tool_timeout
    result = await run_call(
        call, deps.tools, seconds=seconds if left is None else min(seconds, left)
    )
    result.response_metadata["iteration"] = state.iteration
    await _reviewed(result, call, deps)
    _watch_for_repeats(call, result, state, deps)
    done = CallDone(
        **shown,
        observation=result.text,
        error=result.status == "error",
        iter_elapsed=result.response_metadata["seconds"],
        artifacts=[],
    )
    emit(runtime.stream_writer, done)
    return result


async def _reviewed(result: ToolMessage, call: Call, deps: Deps) -> None:
    """Let the host's hook change what the model reads of a result."""
    if deps.hooks.post_tool_use is None:
        return
    use = ToolUse(
        call_id=call.id,
        tool_name=call.name,
        tool_args=call.args,
        iteration=result.response_metadata["iteration"],
    )
    outcome = ToolOutcome(text=result.text, error=result.status == "error")
    try:
        text = await called(deps.hooks.post_tool_use, use, outcome)
    except Exception:
        logger.exception("post_tool_use failed for a result of %s, which is withheld", call.name)
        text, result.status = WITHHELD.format(name=call.name), "error"
    if text is not None:
        result.content = plain_text(text)


def _watch_for_repeats(call: Call, result: ToolMessage, state: AgentState, deps: Deps) -> None:
    """Warn the model of a call that it makes again and again with the same result."""
    made = canonical(call.name, call.args)
    times = 1 + times_made(state.messages, state.turn["start"], made, result.text)
    if times > 1:
        result.response_metadata["times"] = times
    if times >= deps.settings.repeated_calls_warn:
        warn_of_repeat(result)


def _calls(state: AgentState) -> list[Call]:
    reply = next(m for m in reversed(state.messages) if isinstance(m, AIMessage))
    invalid = reply.additional_kwargs.get("invalid", {})
    return [
        Call(
            id=call["id"],
            message_id=f"{reply.id}-{call['id']}",
            name=call["name"],
            args=call["args"],
            invalid=invalid.get(call["id"]),
        )
        for call in open_calls(state.messages)
    ]
