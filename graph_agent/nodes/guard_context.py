"""Keeps the prompt within the model's window, before every call of the loop."""

from dataclasses import replace

from langgraph.runtime import Runtime

from graph_agent.context.tokens import message_tokens
from graph_agent.context.trimming import cut_point
from graph_agent.context.view import prompt_view
from graph_agent.deps import Deps
from graph_agent.events import Compacted, emit
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update


async def guard_context(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
    """Move the cut where the prompt takes more than the budget.

    Reads `messages` and `cut`. Writes `cut` only, down to the target, so that it does not
    happen at every step.
    """
    deps = deps.for_run(runtime)
    overhead = deps.protocol(state).overhead()
    view = prompt_view(state, message_cap=deps.message_cap)
    size = overhead + sum(message_tokens(message) for message in view)
    if size <= deps.budget or deps.settings.compaction == "off":
        return Update()
    room = int(deps.budget * deps.settings.compaction_target) - overhead
    cut = cut_point(state, room=room, message_cap=deps.message_cap)
    if cut == state.cut:
        return Update()
    kept = prompt_view(replace(state, cut=cut), message_cap=deps.message_cap)
    emit(runtime.stream_writer, Compacted(original_messages=len(view), kept_messages=len(kept)))
    return Update(cut=cut)
