"""Open calls run together, in order, and none that finished runs twice."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from graph_agent import build_graph
from graph_agent.testing import ScriptedChatModel

pytestmark = pytest.mark.anyio

THREAD: Any = {"configurable": {"thread_id": "t"}}


def calling(*names: str) -> AIMessage:
    calls = [
        {"name": name, "args": {}, "id": f"c{number}", "type": "tool_call"}
        for number, name in enumerate(names)
    ]
    return AIMessage("", tool_calls=calls)


def asking(content: str = "Go") -> Any:
    return {"messages": [HumanMessage(content)]}


def results(state: Any) -> list[tuple[str, str]]:
    found = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    return [(message.tool_call_id, message.text) for message in found]


def saved_results(saver: InMemorySaver) -> list[str]:
    """What calls of the unfinished step are saved with."""
    saved = saver.get_tuple(THREAD)
    writes = saved.pending_writes or [] if saved else []
    return [value.text for _, _, value in writes if isinstance(value, ToolMessage)]


async def test_results_stand_in_the_order_of_the_calls_whoever_is_first() -> None:
    second_is_done = asyncio.Event()

    async def slow() -> str:
        """End last."""
        await second_is_done.wait()
        return "slow"

    async def quick() -> str:
        """End first."""
        second_is_done.set()
        return "quick"

    model = ScriptedChatModel(replies=[calling("slow", "quick"), "ok", "Ok."])
    state = await build_graph(model, [slow, quick]).ainvoke(asking())

    assert results(state) == [("c0", "slow"), ("c1", "quick")]
    ids = [message.id for message in state["messages"]]
    assert len(set(ids)) == len(ids)


async def test_no_more_calls_run_at_once_than_set() -> None:
    running, most = 0, 0

    async def work() -> str:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "done"

    model = ScriptedChatModel(replies=[calling(*["work"] * 6), "ok", "Ok."])
    await build_graph(model, [work], tool_concurrency=2).ainvoke(asking())

    assert most == 2


async def test_a_call_with_a_name_that_endpoints_refuse_is_told_to_the_model() -> None:
    def look() -> str:
        """Look."""
        return "seen"

    model = ScriptedChatModel(replies=[calling("functions.look", "a/b"), "ok", "Ok."])
    state = await build_graph(model, [look]).ainvoke(asking())

    assert results(state) == [
        ("c0", "seen"),
        ("c1", "There is no tool `a_b`. The tools are: look."),
    ]


async def test_finished_calls_are_not_run_again_after_a_run_was_killed() -> None:
    ran: Counter[str] = Counter()
    third_runs = asyncio.Event()
    hangs = True

    async def first() -> str:
        """Run first."""
        ran["first"] += 1
        return "1"

    async def second() -> str:
        """Run second."""
        ran["second"] += 1
        return "2"

    async def third() -> str:
        """Hang once."""
        ran["third"] += 1
        third_runs.set()
        if hangs:
            await asyncio.Event().wait()
        return "3"

    model = ScriptedChatModel(replies=[calling("first", "second", "third"), "ok", "Ok."])
    saver = InMemorySaver()
    graph = build_graph(model, [first, second, third], checkpointer=saver)
    running = asyncio.create_task(graph.ainvoke(asking(), THREAD))
    await third_runs.wait()
    while len(saved_results(saver)) < 2:  # noqa: ASYNC110 -- a saver tells no one that it saved
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    hangs = False
    state = await graph.ainvoke(None, THREAD)

    assert ran == {"first": 1, "second": 1, "third": 2}
    assert results(state) == [("c0", "1"), ("c1", "2"), ("c2", "3")]
    assert state["answer"] == "Ok."


async def test_a_new_question_on_a_killed_run_is_answered() -> None:
    started = asyncio.Event()

    async def hang() -> None:
        """Hang."""
        started.set()
        await asyncio.Event().wait()

    model = ScriptedChatModel(replies=[calling("hang"), "Second."])
    graph = build_graph(model, [hang], checkpointer=InMemorySaver())
    running = asyncio.create_task(graph.ainvoke(asking("First?"), THREAD))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    state = await graph.ainvoke(asking("Second?"), THREAD)

    assert state["answer"] == "Second."
    assert [(m.type, m.text) for m in model.asked[1].messages[1:]] == [
        ("human", "First?"),
        ("ai", ""),
        ("tool", "Cancelled before it finished; there is no result."),
        ("human", "Second?"),
    ]
