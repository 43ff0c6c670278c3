"""Messages from the queue join the thread once, however often they are read."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from graph_agent.deps import Deps
from graph_agent.interrupts import InterruptQueue
from graph_agent.nodes import drain_interrupts
from graph_agent.prompts import COMPLETION_CHECK
from graph_agent.state import AgentState

pytestmark = pytest.mark.anyio

MakeDeps = Callable[..., Deps]
QUESTION = HumanMessage("q")
CALLING = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c", "type": "tool_call"}])
RESULT = ToolMessage("R", tool_call_id="c")


def joined(content: str, ids: list[str]) -> HumanMessage:
    kept = {"kind": "interrupt", "ids": ids}
    return HumanMessage(f"[USER INTERRUPT]\n{content}", id=ids[0], additional_kwargs=kept)


async def test_an_empty_queue_changes_nothing(make_deps: MakeDeps, stagehand: Any) -> None:
    state = AgentState(messages=[QUESTION])

    assert await drain_interrupts(state, stagehand.runtime, deps=make_deps()) == {}
    assert stagehand.events == []


async def test_what_is_queued_is_joined_and_gives_the_run_room(
    make_deps: MakeDeps, stagehand: Any
) -> None:
    queue = InterruptQueue(stagehand.store, "t")
    ids = [(await queue.put(content)).id for content in ("one", "two")]
    state = AgentState(messages=[QUESTION], iteration=4, iteration_limit=4)

    update = await drain_interrupts(state, stagehand.runtime, deps=make_deps(max_iterations=9))

    assert update == {"messages": [joined("one\n\ntwo", ids)], "iteration_limit": 13}
    assert [event["data"] for event in stagehand.events] == [
        {"type": "inject", "content": "one\n\ntwo", "ids": ids}
    ]
    assert [item.id for item in await queue.pending()] == ids


async def test_while_a_call_is_open_it_is_held(make_deps: MakeDeps, stagehand: Any) -> None:
    item = await InterruptQueue(stagehand.store, "t").put("wait")
    state = AgentState(messages=[QUESTION, CALLING])

    update = await drain_interrupts(state, stagehand.runtime, deps=make_deps(max_iterations=9))

    assert update == {"held": [joined("wait", [item.id])], "iteration_limit": 9}


@pytest.mark.parametrize("place", ["messages", "held"])
async def test_what_the_thread_holds_already_is_not_taken_again(
    make_deps: MakeDeps, stagehand: Any, place: str
) -> None:
    queue = InterruptQueue(stagehand.store, "t")
    old = await queue.put("old")
    known: dict[str, Any] = {"messages": [QUESTION, CALLING], "held": []}
    known[place] = [*known[place], joined("old", [old.id])]

    update = await drain_interrupts(AgentState(**known), stagehand.runtime, deps=make_deps())

    assert update == {}
    assert stagehand.events == []
    # It may not be saved yet: only the next run, or the end of this one, forgets it.
    assert await queue.pending() == [old]


async def test_what_is_new_is_told_apart_from_what_is_known(
    make_deps: MakeDeps, stagehand: Any
) -> None:
    queue = InterruptQueue(stagehand.store, "t")
    old, new = await queue.put("old"), await queue.put("new")
    state = AgentState(messages=[QUESTION, CALLING, RESULT, joined("old", [old.id])])

    update = await drain_interrupts(state, stagehand.runtime, deps=make_deps())

    assert update["messages"] == [joined("new", [new.id])]
    assert [item.id for item in await queue.pending()] == [old.id, new.id]
    assert not await queue.recall(new.id)


ANSWER = AIMessage("a", id="a")


async def test_an_answer_after_enough_tools_gets_its_check(
    make_deps: MakeDeps, stagehand: Any
) -> None:
    state = AgentState(messages=[QUESTION, CALLING, RESULT, ANSWER], iteration_limit=9)

    update = await drain_interrupts(
        state, stagehand.runtime, deps=make_deps(completion_check_min_tools=1)
    )

    content = COMPLETION_CHECK.format(question="q", added="")
    check = HumanMessage(content, id="a-check", additional_kwargs={"kind": "check"})
    assert update == {"messages": [check]}
    assert stagehand.events == []


async def test_what_is_queued_comes_before_the_check(make_deps: MakeDeps, stagehand: Any) -> None:
    item = await InterruptQueue(stagehand.store, "t").put("wait")
    state = AgentState(messages=[QUESTION, CALLING, RESULT, ANSWER], iteration_limit=99)

    update = await drain_interrupts(
        state, stagehand.runtime, deps=make_deps(completion_check_min_tools=1)
    )

    assert update == {"messages": [joined("wait", [item.id])], "iteration_limit": 99}


async def test_a_check_is_no_message_from_the_queue(make_deps: MakeDeps, stagehand: Any) -> None:
    check = HumanMessage("c", additional_kwargs={"kind": "check"})
    reminder = HumanMessage("r", additional_kwargs={"kind": "reminder"})
    item = await InterruptQueue(stagehand.store, "t").put("wait")
    state = AgentState(
        messages=[QUESTION, CALLING, RESULT, reminder, ANSWER, check], iteration_limit=99
    )

    update = await drain_interrupts(state, stagehand.runtime, deps=make_deps())

    assert update["messages"] == [joined("wait", [item.id])]
