"""Takes what people added meanwhile into the thread; if nothing, has the answer checked, once."""

from collections.abc import Sequence

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime

from graph_agent.deps import Deps
from graph_agent.events import Injected, emit
from graph_agent.guards import completion_check
from graph_agent.interrupts import Interrupt, InterruptQueue, drained_ids
from graph_agent.prompts import USER_INTERRUPT
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update, open_calls


async def drain_interrupts(
    state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps
) -> Update:
    """Join the queued messages into one pinned message, and give the run room to answer it.

    Reads `messages` and `held`. While a call is open its result has to come first, so the message
    is held; `act` adds it behind the results. Where none came, an answer may get its check: then
    it is not the newest message any more, and the loop goes on.
    """
    deps = deps.for_run(runtime)
    joined = await drain(state, runtime)
    if joined is None:
        check = _check(state, deps)
        return Update(messages=[check]) if check else Update()
    limit = max(state.iteration_limit, state.iteration + deps.settings.max_iterations)
    if open_calls(state.messages):
        return Update(held=[*state.held, joined], iteration_limit=limit)
    update = Update(messages=[joined], iteration_limit=limit)
    if state.stop_reason is not None:
        # What was added may change the way; a limit that still holds stops the loop again.
        update["stop_reason"] = None
    return update


async def drain(state: AgentState, runtime: Runtime[RunOptions]) -> HumanMessage | None:
    """Take what is queued and not yet in the thread, joined to one message.

    Nothing is acknowledged here: only a saved step makes sure that a message is kept.
    """
    queue = queue_of(runtime)
    queued = await queue.pending() if queue else []
    known = drained_ids([*state.messages, *state.held]) if queued else set()
    new = [item for item in queued if item.id not in known]
    taken = await queue.take(new) if queue and new else []
    if not taken:
        return None
    content = "\n\n".join(item.content for item in taken)
    emit(runtime.stream_writer, Injected(content=content, ids=[item.id for item in taken]))
    return _joined(content, taken)


async def message_waits(state: AgentState, runtime: Runtime[RunOptions]) -> bool:
    """Tell whether there is anything to take in, or may be.

    A store that fails here would take the step with it that is just done: the model's reply, or
    the results of tools. The node meets the failure when these are saved.
    """
    queue = queue_of(runtime)
    try:
        queued = await queue.pending() if queue else []
    except Exception:  # noqa: BLE001 -- met again, and told, one step later
        return True
    known = drained_ids([*state.messages, *state.held]) if queued else set()
    return any(item.id not in known for item in queued)


def check_due(state: AgentState, deps: Deps) -> bool:
    """Tell whether the answer is to be checked before it counts."""
    return _check(state, deps) is not None


def _check(state: AgentState, deps: Deps) -> HumanMessage | None:
    return completion_check(state, minimum=deps.settings.completion_check_min_tools)


async def acknowledge_saved(state: AgentState, runtime: Runtime[RunOptions]) -> None:
    """Forget the messages that a saved thread holds, as a run begins on it."""
    queue = queue_of(runtime)
    queued = await queue.pending() if queue else []
    if queue and queued:
        known = drained_ids([*state.messages, *state.held])
        await queue.acknowledge([item.id for item in queued if item.id in known])


def queue_of(runtime: Runtime[RunOptions]) -> InterruptQueue | None:
    """Return the thread's queue, where there is a store to keep it."""
    thread_id = runtime.execution_info.thread_id if runtime.execution_info else None
    if runtime.store is None or thread_id is None:
        return None
    return InterruptQueue(runtime.store, thread_id)


def _joined(content: str, interrupts: Sequence[Interrupt]) -> HumanMessage:
    return HumanMessage(
        USER_INTERRUPT.format(content=content),
        id=interrupts[0].id,
        additional_kwargs={"kind": "interrupt", "ids": [item.id for item in interrupts]},
    )
