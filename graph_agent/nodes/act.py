"""Runs the tool calls of the newest reply, in parallel, each as a task of its own."""

import asyncio
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.func import task
from langgraph.runtime import Runtime

from graph_agent.deps import Deps
from graph_agent.events import CallDone, CallStart, emit
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update, open_calls
from graph_agent.tools.run_call import Call, run_call


async def act(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
    """Run every open call and add the results in the order of the calls.

    Reads `messages` and `held`. A call is a LangGraph task, so that after a crash only the
    unfinished ones run again; that needs the order of calls to be always the same.
    """
    deps = deps.for_run(runtime)
    slots = asyncio.Semaphore(deps.settings.tool_concurrency)

    @task
    async def call_tool(call: Call) -> ToolMessage:
        async with slots:
            return await _observed(call, state, runtime, deps)

    results = await asyncio.gather(*(call_tool(call) for call in _calls(state)))
    return Update(messages=[*results, *state.held], held=[])


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
    result = await run_call(call, deps.tools, seconds=deps.settings.tool_timeout)
    result.response_metadata["iteration"] = state.iteration
    done = CallDone(
        **shown,
        observation=result.text,
        error=result.status == "error",
        iter_elapsed=result.response_metadata["seconds"],
        artifacts=[],
    )
    emit(runtime.stream_writer, done)
    return result


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
