"""Events reach whoever started the run, and nobody else; what else is written is no event."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.tool import tool_call
from langgraph.config import get_stream_writer

from graph_agent import ReActAgent, build_graph
from graph_agent.event_sink import run_events
from graph_agent.events import AnswerStart, WireEvent
from graph_agent.testing import Gate, ScriptedChatModel, check_events

pytestmark = pytest.mark.anyio

CALL = AIMessage("", tool_calls=[tool_call(name="work", args={}, id="c1")])


async def events_of(tool: Callable[..., Any]) -> list[WireEvent]:
    model = ScriptedChatModel(replies=[CALL, "Done."])
    async with ReActAgent(model, [tool], database="memory:") as agent:
        events = [event async for event in agent.stream("Go")]
    check_events(events)
    return events


async def test_what_a_tool_writes_by_itself_is_no_event() -> None:
    async def work() -> str:
        """Work."""
        get_stream_writer()({"progress": 0.5})
        return "worked"

    assert [event["event"] for event in await events_of(work)][-2:] == ["done", "end"]


async def test_a_graph_inside_a_tool_is_not_heard_outside() -> None:
    async def work() -> str:
        """Work."""
        inner = build_graph(ScriptedChatModel(replies=["Inner."]), synthesis="never")
        asked: Any = {"messages": [HumanMessage("Do it.")]}
        state = await inner.ainvoke(asked)
        return str(state["answer"])

    events = await events_of(work)

    assert [event["event"] for event in events].count("done") == 1
    assert events[-2]["data"]["answer"] == "Done."


async def test_whoever_leaves_ends_the_run() -> None:
    gate, ended = Gate(), asyncio.Event()

    async def run(tell: Callable[[WireEvent], None]) -> AsyncIterator[Any]:
        tell(AnswerStart().wire())
        try:
            await gate.hold()
        finally:
            ended.set()
        yield

    events = run_events(run)
    first = await anext(events)
    await events.aclose()

    assert (first, ended.is_set()) == (AnswerStart().wire(), True)


async def test_what_was_told_comes_before_what_went_wrong() -> None:
    async def run(tell: Callable[[WireEvent], None]) -> AsyncIterator[Any]:
        tell(AnswerStart().wire())
        yield
        raise OSError("the disk is full")

    events = run_events(run)

    assert await anext(events) == AnswerStart().wire()
    with pytest.raises(OSError, match="the disk is full"):
        await anext(events)
