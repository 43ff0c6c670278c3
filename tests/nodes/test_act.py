"""Open calls run together, in order, and none that finished runs twice."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from graph_agent import build_graph
from graph_agent.deps import Deps
from graph_agent.nodes import act
from graph_agent.prompts import GOAL_ADDED, REMINDER
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, marked
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


def rounds_of_look(stop: int) -> Any:
    """As many calls as `stop`; the last one has no result yet."""
    messages: list[Any] = [HumanMessage("q", id="q")]
    for number in range(stop):
        call = {"name": "look", "args": {}, "id": f"c{number}"}
        messages.append(AIMessage("", id=f"a{number}", tool_calls=[call]))
        messages.append(ToolMessage("seen", tool_call_id=f"c{number}"))
    return messages[:-1]


def look() -> str:
    """Look."""
    return "seen"


def held(content: str) -> HumanMessage:
    return HumanMessage(content, id="i", additional_kwargs={"kind": "interrupt", "ids": ["i"]})


def graph_of_act(make_deps: Callable[..., Deps], **settings: Any) -> Any:
    """A graph of the one node: calls run as tasks, which need one."""

    async def node(state: AgentState, runtime: Runtime[RunOptions]) -> Any:
        return await act(state, runtime, deps=make_deps(tools=[look], **settings))

    builder = StateGraph(AgentState, RunOptions)
    builder.add_node("act", node)
    builder.add_edge(START, "act")
    return builder.compile()


async def added_by_act(
    make_deps: Callable[..., Deps], rounds: int, *waiting: HumanMessage, **settings: Any
) -> list[tuple[str, str | None, str]]:
    """Run the open call; return type, mark and text of what joins the thread."""
    before = rounds_of_look(rounds)
    state = AgentState(
        messages=before, held=list(waiting), iteration=rounds, iteration_limit=rounds + 1
    )
    after = await graph_of_act(make_deps, **settings).ainvoke(state)
    return [(m.type, marked(m), m.text) for m in after["messages"][len(before) :]]


RESULT = ("tool", None, "seen")
REMINDED = ("human", "reminder", REMINDER.format(question="q", added=""))


async def test_a_reminder_follows_the_results_of_every_third_round(
    make_deps: Callable[..., Deps],
) -> None:
    on = {"self_reflection_interval": 3, "repeated_calls_warn": 99, "repeated_calls_stop": 99}

    added = [await added_by_act(make_deps, rounds, **on) for rounds in range(1, 7)]

    assert added == [[RESULT], [RESULT], [RESULT, REMINDED]] * 2


async def test_a_reminder_follows_what_was_held(make_deps: Callable[..., Deps]) -> None:
    added = await added_by_act(make_deps, 1, held("Faster."), self_reflection_interval=1)

    assert added == [
        RESULT,
        ("human", "interrupt", "Faster."),
        ("human", "reminder", REMINDER.format(question="q", added=GOAL_ADDED)),
    ]


async def test_a_run_that_stops_is_reminded_of_nothing(make_deps: Callable[..., Deps]) -> None:
    on = {"self_reflection_interval": 1, "repeated_calls_warn": 99, "repeated_calls_stop": 2}

    assert await added_by_act(make_deps, 2, **on) == [RESULT]
