"""The agent in Python: run, stream, interrupt, resume, on threads that are kept."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from graph_agent import (
    ConfigError,
    ModelUnavailableError,
    ReActAgent,
    ThreadBusyError,
    ThreadNotFoundError,
)
from graph_agent.events import WireEvent
from graph_agent.interrupts import InterruptQueue
from graph_agent.testing import Gate, Held, HttpError, ScriptedChatModel, check_events

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
WAIT = AIMessage("", tool_calls=[{"id": "c1", "name": "wait", "args": {}, "type": "tool_call"}])


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_a_follow_up_knows_the_first_turn(set_stage: SetStage, speech: Any) -> None:
    stage = set_stage([speech.final("Paris."), speech.final("2 million.")])

    first = await stage.agent.run("Capital of France?")
    second = await stage.agent.run("How many live there?", thread_id=first.thread_id)

    assert (second.answer, second.thread_id) == ("2 million.", first.thread_id)
    assert first.run_id != second.run_id
    texts = [content for role, content in stage.sent(1) if role != "system"]
    assert texts == ["Capital of France?", speech.final("Paris."), "How many live there?"]
    assert [message.text for message in second.messages[1:]] == [
        "Capital of France?",
        "Paris.",
        "How many live there?",
        "2 million.",
    ]


async def test_a_result_tells_of_its_own_run_only(set_stage: SetStage, speech: Any) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}))
    stage = set_stage([call, speech.final("3"), "3.", speech.final("Yes.")], [add])

    first = await stage.agent.run("1 + 2?", thread_id="t")
    second = await stage.agent.run("Sure?", thread_id="t")

    assert (len(first.steps), first.iterations, first.usage["calls"]) == (1, 2, 3)
    assert (len(second.steps), second.iterations, second.usage["calls"]) == (0, 1, 1)
    assert 0 <= second.elapsed < 60


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("", id="no text"),
        pytest.param(" \n\t", id="blank text"),
        pytest.param([], id="no blocks"),
    ],
)
async def test_an_empty_message_is_refused_before_anything_happens(message: Any) -> None:
    model = ScriptedChatModel(replies=[])
    async with ReActAgent(model, database="memory:") as agent:
        with pytest.raises(ConfigError, match="The message is empty"):
            await agent.run(message, thread_id="t")
        with pytest.raises(ConfigError, match="The message is empty"):
            await anext(agent.stream(message, thread_id="t"))

        assert await agent.threads() == []
    model.check()


async def test_content_blocks_are_a_message(set_stage: SetStage, speech: Any) -> None:
    stage = set_stage([speech.final("Seen.")])
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]

    result = await stage.agent.run(blocks)

    assert result.answer == "Seen."
    assert result.messages[1].content == blocks
    assert stage.sent(0)[-1] == ("user", blocks)


async def test_text_that_no_store_can_hold_is_replaced_at_the_door(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=["Yes.", "Yes."])
    async with ReActAgent(model, database=f"sqlite:///{tmp_path}/t.sqlite") as agent:
        text = await agent.run("half \ud83d and \x00, 서울 🙂", thread_id="t")
        blocks = await agent.run([{"type": "text", "text": "half \ud83d"}])
        info = await agent.thread("t")

    assert text.messages[1].text == "half ? and \ufffd, 서울 🙂"
    assert blocks.messages[1].text == "half ?"
    assert info is not None
    assert info.title == "half ? and \ufffd, 서울 🙂"


async def test_an_endpoint_that_is_down_raises_and_the_thread_goes_on(
    set_stage: SetStage, speech: Any
) -> None:
    stage = set_stage([HttpError(status=503), HttpError(status=503), speech.final("Here.")])

    with pytest.raises(ModelUnavailableError):
        await stage.agent.run("First", thread_id="thread")
    events = await stage.ask("Second")
    answer = await stage.answer("Third")

    assert [e["event"] for e in events[-2:]] == ["error", "end"]
    assert events[-2]["data"]["code"] == "model_unavailable"
    assert answer == "Here."
    assert stage.endpoint.requests[-1].body["messages"][-1]["content"].endswith("Third")


@pytest.mark.parametrize("outcome", ["an answer", "an error"])
async def test_who_sees_the_end_may_go_on_at_once(outcome: str, tmp_path: Path) -> None:
    reply: Any = "Yes." if outcome == "an answer" else ValueError("down")
    model = ScriptedChatModel(replies=[reply] * 20)
    async with ReActAgent(model, database=f"sqlite:///{tmp_path}/t.sqlite", max_retries=0) as agent:
        running: list[Any] = []
        for _ in range(20):
            events = agent.stream("Hi", thread_id="t")
            async for event in events:
                if event["event"] in {"done", "error"}:
                    break
            running.append(events)  # Left open: the next run starts before this one's `end`.
        for events in running:
            await events.aclose()

        saved = [m.type for m in (await agent.snapshot("t")).values["messages"]]

    model.check()
    assert saved.count("human") == 20
    assert saved.count("ai") == (20 if outcome == "an answer" else 0)


async def test_a_second_run_on_a_thread_is_refused_and_other_threads_are_not() -> None:
    reached, leave = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Wait."""
        reached.set()
        await leave.wait()
        return "done"

    replies = [WAIT, "Other.", "draft", "First."]
    async with ReActAgent(ScriptedChatModel(replies=replies), [wait], database="memory:") as agent:
        first = asyncio.ensure_future(agent.run("Go", thread_id="t"))
        await reached.wait()

        with pytest.raises(ThreadBusyError, match="Thread t is busy"):
            await agent.run("Me too", thread_id="t")
        assert (await agent.run("Hi", thread_id="other")).answer == "Other."

        leave.set()
        assert (await first).answer == "First."


async def test_many_threads_of_one_agent_run_at_once(tmp_path: Path) -> None:
    meet = asyncio.Barrier(8)

    async def wait() -> str:
        """Wait for all."""
        await meet.wait()
        return "met"

    def reply(messages: list[Any]) -> AIMessage | str:
        return f"draft of {messages[1].text}" if messages[-1].type == "tool" else WAIT

    model = ScriptedChatModel(replies=[reply] * 16)
    agent = ReActAgent(model, [wait], database=f"sqlite:///{tmp_path}/t.sqlite", synthesis="never")
    async with agent:
        results = await asyncio.gather(
            *(agent.run(f"q{number}", thread_id=f"t{number}") for number in range(8))
        )
        listed = {(info.thread_id, info.title) for info in await agent.threads()}

    assert [result.answer for result in results] == [f"draft of q{n}" for n in range(8)]
    assert listed == {(f"t{n}", f"q{n}") for n in range(8)}


async def test_leaving_a_stream_early_stops_the_run_and_frees_the_thread() -> None:
    reached, stopped = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        """Wait."""
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    model = ScriptedChatModel(replies=[WAIT, "Here."])
    async with ReActAgent(model, [wait], database="memory:") as agent:
        async with aclosing(agent.stream("Go", thread_id="t")) as events:
            async for event in events:
                if event["data"].get("tool_name") == "wait":
                    await reached.wait()
                    break

        assert stopped.is_set()
        assert (await agent.run("Still there?", thread_id="t")).answer == "Here."


async def test_an_interrupt_is_answered_in_the_same_run(set_stage: SetStage, speech: Any) -> None:
    gate = Gate()
    stage = set_stage([Held(gate, speech.final("Draft.")), speech.final("In French.")])
    run = asyncio.ensure_future(stage.agent.run("Hi", thread_id="t"))
    await gate.reached()

    put = await stage.agent.interrupt("t", "Say it in French.")
    gate.open()
    result = await run

    assert result.answer == "In French."
    assert put.content == "Say it in French."
    assert "Say it in French." in str(stage.sent(1)[-1])
    assert await InterruptQueue(await stage.agent.store(), "t").pending() == []


async def test_a_run_that_failed_is_resumed_from_its_last_step(
    set_stage: SetStage, speech: Any
) -> None:
    ran: list[int] = []

    def count(n: int) -> int:
        """Count.

        Args:
            n: A number.
        """
        ran.append(n)
        return n

    stage = set_stage([speech.calls(("count", {"n": 1})), HttpError(status=503)], [count])
    with pytest.raises(ModelUnavailableError):
        await stage.agent.run("Go", thread_id="t")
    stage.endpoint.reply(speech.final("draft"), "Counted.")

    result = await stage.agent.resume("t")

    assert (result.answer, ran) == ("Counted.", [1])
    assert [step.observation for step in result.steps] == ["1"]


async def test_there_must_be_something_to_resume() -> None:
    async with ReActAgent(ScriptedChatModel(replies=["Yes."]), database="memory:") as agent:
        with pytest.raises(ThreadNotFoundError, match="There is no thread nowhere"):
            await agent.resume("nowhere")
        await agent.run("Hi", thread_id="t")

        with pytest.raises(ConfigError, match="Thread t has nothing to resume"):
            await agent.resume("t")


async def leave_a_message(agent: ReActAgent, thread_id: str, content: str) -> None:
    """Queue a message as for a run whose process died before it looked at the queue again."""
    await InterruptQueue(await agent.store(), thread_id).put(content)


async def test_what_was_left_in_the_queue_is_answered_by_resuming(
    set_stage: SetStage, speech: Any, database: str
) -> None:
    script = [speech.final(text) for text in ("Hello.", "Bonjour.", "Au revoir.")]
    stage = set_stage(script, database=database)
    await stage.answer("Hi", "t")
    await leave_a_message(stage.agent, "t", "In French, please.")

    resumed = await stage.agent.resume("t")
    await leave_a_message(stage.agent, "t", "Say goodbye.")
    events = [event async for event in stage.agent.stream_resume("t")]

    assert resumed.answer == "Bonjour."
    assert "In French, please." in str(stage.sent(1)[-1])
    check_events(events, resumed=True)
    assert [e["data"]["content"] for e in events if e["event"] == "inject"] == ["Say goodbye."]
    assert events[-2]["data"]["answer"] == "Au revoir."
    assert await InterruptQueue(await stage.agent.store(), "t").pending() == []
    with pytest.raises(ConfigError, match="Thread t has nothing to resume"):
        await stage.agent.resume("t")


async def test_what_the_thread_holds_already_is_nothing_to_resume() -> None:
    gate_reached, leave = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        """Wait."""
        gate_reached.set()
        await leave.wait()

    store, replies = InMemoryStore(), [WAIT, "draft", "Answer."]
    model = ScriptedChatModel(replies=replies)
    async with ReActAgent(model, [wait], checkpointer=InMemorySaver(), store=store) as agent:
        run = asyncio.ensure_future(agent.run("Go", thread_id="t"))
        await gate_reached.wait()
        put = await agent.interrupt("t", "Hurry.")
        leave.set()
        await run
        # As where the process died after the last step, and before it forgot the message.
        await store.aput(("interrupts", "t"), put.id, {"content": "Hurry.", "taken": True})

        with pytest.raises(ConfigError, match="Thread t has nothing to resume"):
            await agent.resume("t")


class Recalling(InMemoryStore):
    """Recalls a queued message as soon as it was seen once."""

    async def asearch(self, namespace_prefix: Any, /, **options: Any) -> Any:
        found = await super().asearch(namespace_prefix, **options)
        for item in found if namespace_prefix[0] == "interrupts" else []:
            await self.adelete(item.namespace, item.key)
        return found


async def test_what_is_recalled_as_it_is_resumed_is_not_answered() -> None:
    places: Any = {"checkpointer": InMemorySaver(), "store": Recalling()}
    async with ReActAgent(ScriptedChatModel(replies=["Yes.", "No."]), **places) as agent:
        await agent.run("Hi", thread_id="t")
        for resume in (agent.resume("t"), anext(agent.stream_resume("t"))):
            await leave_a_message(agent, "t", "oh no")
            with pytest.raises(ConfigError, match="Thread t has nothing to resume"):
                await resume

        assert (await agent.run("Sure?", thread_id="t")).answer == "No."


async def test_a_thread_with_a_run_is_not_resumed(set_stage: SetStage, speech: Any) -> None:
    gate = Gate()
    stage = set_stage([speech.final("Yes."), Held(gate, speech.final("No.")), speech.final("Ok.")])
    await stage.agent.run("Hi", thread_id="t")
    run = asyncio.ensure_future(stage.agent.run("Sure?", thread_id="t"))
    await gate.reached()
    await leave_a_message(stage.agent, "t", "Really?")

    with pytest.raises(ThreadBusyError, match="Thread t is busy"):
        await stage.agent.resume("t")
    gate.open()

    assert (await run).answer == "Ok."


class Dying(InMemorySaver):
    """Fails to save one step, as where the process dies then."""

    def __init__(self) -> None:
        super().__init__()
        # LangGraph works with a copy, which shares this.
        self.plan: dict[str, str | None] = {"dies_at": None}

    async def aput(self, config: Any, checkpoint: Any, *args: Any) -> RunnableConfig:
        if checkpoint["channel_values"].get("stop_reason") == self.plan["dies_at"] is not None:
            raise OSError("killed")
        return await super().aput(config, checkpoint, *args)


@pytest.mark.parametrize("structured", [None, {"type": "object", "properties": {}}])
async def test_an_end_that_was_saved_but_not_told_is_told_by_resuming(structured: Any) -> None:
    saver, data = Dying(), ["{}"] if structured else []
    model = ScriptedChatModel(replies=["Yes.", *data])
    agent = ReActAgent(model, checkpointer=saver, response_format=structured)
    async with agent:
        saver.plan["dies_at"] = "final"
        with pytest.raises(OSError, match="killed"):
            await agent.run("Hi", thread_id="t")
        saver.plan["dies_at"] = None

        events = [event async for event in agent.stream_resume("t")]

    check_events(events, resumed=True)
    deltas = [e["data"].get("content") for e in events if e["event"] == "answer"]
    assert deltas == [None, "Yes.", None]
    done = events[-2]["data"]
    assert (done["answer"], done["stop_reason"], done["thread_id"]) == ("Yes.", "final", "t")
    assert (done["iterations"], done["usage"]["calls"]) == (1, 1 + len(data))
    assert done.get("structured", "not asked") == ({} if structured else "not asked")
    model.check()


async def test_given_places_are_used_and_shared_by_agents() -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    agents = [
        ReActAgent(ScriptedChatModel(replies=[answer]), checkpointer=saver, store=store)
        for answer in ("one", "two")
    ]

    for agent in agents:
        async with agent:
            await agent.run("Hi", thread_id="t")
            assert await agent.store() is store

    messages = (await agents[0].snapshot("t")).values["messages"]
    assert [message.text for message in messages] == ["Hi", "one", "Hi", "two"]


async def test_a_thread_may_have_any_name(tmp_path: Path) -> None:
    names = ["user.42", "한국어 🙂", "a/b?c=%2E", "x" * 300, ".", "*"]
    model = ScriptedChatModel(replies=["Yes."] * len(names))
    async with ReActAgent(model, database=f"sqlite:///{tmp_path}/t.sqlite") as agent:
        for name in names:
            queue = InterruptQueue(await agent.store(), name)
            put = await queue.put(f"for {name}")
            assert await queue.pending() == [put]
            await queue.acknowledge([put.id])
            assert (await agent.run("Hi", thread_id=name)).thread_id == name

        assert {info.thread_id for info in await agent.threads()} == set(names)


async def test_a_closed_agent_opens_again(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=["one", "two"])
    agent = ReActAgent(model, database=f"sqlite:///{tmp_path}/t.sqlite")
    await agent.run("Hi", thread_id="t")
    await agent.aclose()
    await agent.aclose()

    assert len((await agent.run("Hi", thread_id="t")).messages) == 5

    await agent.aclose()


@pytest.mark.parametrize("database", ["memory:", "sqlite:///{folder}/t.sqlite"])
def test_a_thread_outlives_an_event_loop(database: str, tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=["one", "two", "three"])
    agent = ReActAgent(model, database=database.format(folder=tmp_path))

    lengths = [len(asyncio.run(agent.run("Hi", thread_id="t")).messages) for _ in range(2)]
    lengths.append(len(agent.run_sync("Hi", thread_id="t").messages))
    agent.close()

    assert lengths == [3, 5, 7]


async def test_events_come_in_order_for_every_host(set_stage: SetStage, speech: Any) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}))
    stage = set_stage([call, speech.final("draft"), "one\ntwo"], [add])

    events: list[WireEvent] = [event async for event in stage.agent.stream("Go", thread_id="t")]

    check_events(events)
    assert [e["data"]["thread_id"] for e in events if e["event"] == "done"] == ["t"]
