"""Messages for a run in progress: taken into the thread once, in order, at the right moment."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from graph_agent import ConfigError, build_graph
from graph_agent.interrupts import InterruptQueue
from graph_agent.prompts import USER_INTERRUPT
from graph_agent.testing import ScriptedChatModel, check_events

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
QUESTION: Any = {"messages": [HumanMessage("Go")]}
CONFIG = RunnableConfig(configurable={"thread_id": "t"})
CALL = AIMessage("", tool_calls=[{"id": "c1", "name": "look", "args": {}, "type": "tool_call"}])


def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize("content", ["", " \n"])
async def test_an_empty_message_is_refused(content: str) -> None:
    queue = InterruptQueue(InMemoryStore(), "t")

    with pytest.raises(ConfigError, match="The message is empty"):
        await queue.put(content)

    assert await queue.pending() == []


async def test_messages_are_drained_together_in_order_and_once(
    set_stage: SetStage, speech: Any
) -> None:
    stage = set_stage([speech.calls(("look", {})), speech.final("draft"), "Answer."], [look])
    queue = InterruptQueue(await stage.agent.store(), "thread")
    put = [await queue.put(f"message {number}") for number in range(120)]

    events = await stage.ask("Go")

    texts = "\n\n".join(item.content for item in put)
    injected = [event["data"] for event in events if event["event"] == "inject"]
    assert injected == [{"type": "inject", "content": texts, "ids": [item.id for item in put]}]
    messages = (await stage.agent.snapshot("thread")).values["messages"]
    assert [message.type for message in messages] == ["human", "ai", "tool", "human", "ai"]
    assert messages[3].text == USER_INTERRUPT.format(content=texts)
    assert await InterruptQueue(await stage.agent.store(), "thread").pending() == []
    assert stage.endpoint.rejected == []


async def test_a_message_that_is_recalled_in_time_is_never_seen(
    set_stage: SetStage, speech: Any
) -> None:
    stage = set_stage([speech.final("Answer.")])
    queue = InterruptQueue(await stage.agent.store(), "thread")
    put = await queue.put("oh no")

    assert await queue.recall(put.id)

    assert await stage.answer("Go") == "Answer."
    assert len(stage.endpoint.requests) == 1


async def test_the_store_may_be_one_that_the_host_injects() -> None:
    store = InMemoryStore()
    model = ScriptedChatModel(replies=[CALL, "draft", "Answer."])
    graph = build_graph(model, [look], checkpointer=InMemorySaver(), store=store)
    await store.aput(("interrupts", "t"), "by-hand", {"content": "Hurry."})

    parts = [part async for part in graph.astream(QUESTION, CONFIG, stream_mode="custom")]

    check_events(parts)
    assert [part["data"]["content"] for part in parts if part["event"] == "inject"] == ["Hurry."]
    assert "Hurry." in model.asked[1].messages[-1].text


async def test_without_a_store_a_run_takes_no_messages() -> None:
    graph = build_graph(ScriptedChatModel(replies=["Answer."]))

    state = await graph.ainvoke(QUESTION)

    assert state["answer"] == "Answer."
