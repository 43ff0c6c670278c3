"""Asks the model for its next move: tool calls, or the answer."""

from langgraph.runtime import Runtime

from graph_agent.context.view import prompt_view
from graph_agent.deps import Deps
from graph_agent.events import ThinkingDone, ThinkingStart, emit
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update
from graph_agent.usage import add_usage, usage_of


async def think(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
    """Put the conversation to the model, and read its reply in native form.

    Reads `messages`, `cut` and `selected_tools`. Adds the reply, and in JSON mode a request to
    reformat where it could not be read.
    """
    deps = deps.for_run(runtime)
    protocol = deps.protocol(state)
    iteration, reasoning = state.iteration + 1, ""
    emit(runtime.stream_writer, ThinkingStart(iteration=iteration))
    try:
        move = await protocol.ask(deps.model, prompt_view(state, message_cap=deps.message_cap))
        reasoning = move.reasoning
    finally:
        emit(runtime.stream_writer, ThinkingDone(iteration=iteration, reasoning=reasoning))
    return Update(
        messages=move.messages,
        iteration=iteration,
        mode=protocol.mode,
        usage=add_usage(state.usage, "loop", usage_of(move.reply)),
    )
