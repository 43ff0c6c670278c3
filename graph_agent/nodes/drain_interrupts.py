"""Takes what people added meanwhile into the thread."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.runtime import Runtime

from graph_agent.deps import Deps
from graph_agent.events import Injected, emit
from graph_agent.interrupts import Interrupt, InterruptQueue
from graph_agent.prompts import USER_INTERRUPT
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update, marked, open_calls


async def drain_interrupts(
    state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps
) -> Update:
    """Join the queued messages into one pinned message, and give the run room to answer it.

    Reads `messages` and `held`. While a call is open its result has to come first, so the message
    is held; `act` adds it behind the results.
    """
    deps = deps.for_run(runtime)
    joined = await drain(state, runtime)
    if joined is None:
        return Update()
    limit = max(state.iteration_limit, state.iteration + deps.settings.max_iterations)
    if open_calls(state.messages):
        return Update(held=[*state.held, joined], iteration_limit=limit)
    update = Update(messages=[joined], iteration_limit=limit)
    if state.stop_reason is not None:
        # What was added may change the way; a limit that still holds stops the loop again.
        update["stop_reason"] = None
    return update


async def drain(state: AgentState, runtime: Runtime[RunOptions]) -> HumanMessage | None:
    """Read the queue: acknowledge what the thread holds already, and join what is new."""
    queue = queue_of(runtime)
    queued = await queue.pending() if queue else []
    if not queue or not queued:
        return None
    known = drained_ids([*state.messages, *state.held])
    await queue.acknowledge([item.id for item in queued if item.id in known])
    new = [item for item in queued if item.id not in known]
    if not new:
        return None
    content = "\n\n".join(item.content for item in new)
    emit(runtime.stream_writer, Injected(content=content, ids=[item.id for item in new]))
    return _joined(content, new)


def queue_of(runtime: Runtime[RunOptions]) -> InterruptQueue | None:
    """Return the thread's queue, where there is a store to keep it."""
    thread_id = runtime.execution_info.thread_id if runtime.execution_info else None
    if runtime.store is None or thread_id is None:
        return None
    return InterruptQueue(runtime.store, thread_id)


def drained_ids(messages: Sequence[BaseMessage]) -> set[str]:
    """Collect the ids of the interrupts that are in the thread."""
    return {
        interrupt_id
        for message in messages
        if marked(message) == "interrupt"
        for interrupt_id in message.additional_kwargs["ids"]
    }


def _joined(content: str, interrupts: Sequence[Interrupt]) -> HumanMessage:
    return HumanMessage(
        USER_INTERRUPT.format(content=content),
        id=interrupts[0].id,
        additional_kwargs={"kind": "interrupt", "ids": [item.id for item in interrupts]},
    )
