"""Keeps the prompt within the model's window, before every call of the loop."""

from langgraph.runtime import Runtime

from graph_agent.context.compaction import Frame, compacted
from graph_agent.context.prompt import prompt_of
from graph_agent.deps import Deps
from graph_agent.events import Compacted, emit
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update
from graph_agent.usage import add_usage, usage_of


async def guard_context(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
    """Move the marks of compaction where the prompt takes more than the budget.

    Reads `messages` and the marks. Writes `cut`, `shrunk`, `summary` and `cap`, down to a target,
    so that it does not happen at every step.
    """
    deps = deps.for_run(runtime)
    if prompt_fits(state, deps):
        return Update()
    frame = _frame(state, deps)
    before = prompt_of(state, frame.caps).messages
    smaller, replies = await compacted(state, frame, deps.settings, deps.fast_model or deps.model)
    after = prompt_of(smaller, frame.caps).messages
    if before == after:
        return Update()
    emit(runtime.stream_writer, Compacted(original_messages=len(before), kept_messages=len(after)))
    update = Update(
        cut=smaller.cut, shrunk=smaller.shrunk, summary=smaller.summary, cap=smaller.cap
    )
    if replies:
        update["usage"] = add_usage(state.usage, "compaction", usage_of(*replies))
    return update


def prompt_fits(state: AgentState, deps: Deps) -> bool:
    """Tell whether nothing has to be done before the next call."""
    return deps.settings.compaction == "off" or _frame(state, deps).fits(state)


def _frame(state: AgentState, deps: Deps) -> Frame:
    return Frame(
        budget=deps.budget,
        overhead=deps.protocol(state).overhead(),
        caps=deps.caps,
        share=deps.settings.compaction_target,
    )
