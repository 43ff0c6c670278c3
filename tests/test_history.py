"""The steps of a thread, and new threads that begin from one of them."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver

from graph_agent import ConfigError, ModelError, ReActAgent, ThreadNotFoundError, build_graph
from graph_agent.backends import open_backend
from graph_agent.state import AgentInput
from graph_agent.testing import ScriptedChatModel

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
CONFIG = RunnableConfig(configurable={"thread_id": "t"})
ADD = {"id": "c1", "name": "add", "args": {"a": 1, "b": 2}, "type": "tool_call"}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def scripted(*replies: Any, **options: Any) -> ReActAgent:
    return ReActAgent(ScriptedChatModel(replies=[*replies]), [add], **options)


def told(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """Role and text of each message but the system prompt."""
    return [(message.type, message.text) for message in messages if message.type != "system"]


async def saved(agent: ReActAgent, thread_id: str) -> list[tuple[str, str]]:
    return told((await agent.snapshot(thread_id)).values["messages"])


async def test_each_step_is_listed_newest_first(database: str) -> None:
    call = AIMessage("", tool_calls=[ADD])
    async with scripted(call, "draft", "It is 3.", database=database) as agent:
        await agent.run("1 + 2?", thread_id="t")
        history = await agent.history("t")
        newest = await agent.history("t", limit=2)

    listed = [
        (info.step, info.next, info.messages, info.iteration, info.last_message) for info in history
    ]
    assert [step for step, *_ in listed] == [*reversed(range(-1, len(listed) - 1))]
    assert (listed[0][1:], listed[-1][1:]) == (([], 4, 2, "It is 3."), (["__start__"], 0, 0, ""))
    # Which nodes run between these is the graph's own affair.
    assert [row for _, *row in listed if row[0] in (["act"], ["synthesize"], ["select_tools"])] == [
        [["synthesize"], 4, 2, "draft"],
        [["act"], 2, 1, "add"],
        [["select_tools"], 1, 0, "1 + 2?"],
    ]
    assert newest == history[:2]
    times = [info.created_at for info in history]
    assert times == sorted(times, reverse=True)


class Counting(InMemorySaver):
    """Counts the checkpoints that are read."""

    def __init__(self) -> None:
        super().__init__()
        # LangGraph works with a copy, which shares this.
        self.read = Counter[str]()

    async def aget_tuple(self, *args: Any, **kwargs: Any) -> CheckpointTuple | None:
        self.read["all"] += 1
        return await super().aget_tuple(*args, **kwargs)

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
        async for found in super().alist(*args, **kwargs):
            self.read["all"] += 1
            yield found


async def test_no_more_checkpoints_are_read_than_are_asked_for() -> None:
    saver = Counting()
    async with scripted(*["Yes."] * 5, checkpointer=saver) as agent:
        for _ in range(5):
            await agent.run("Hi", thread_id="t")
        saver.read["all"] = 0

        history = await agent.history("t", limit=3)

    assert (len(history), saver.read["all"]) == (3, 3)


async def test_the_history_of_a_thread_that_was_not_asked_yet_is_empty() -> None:
    async with scripted(database="memory:") as agent:
        await agent.register("new")

        assert await agent.history("new") == []
        with pytest.raises(ThreadNotFoundError, match="There is no thread nowhere"):
            await agent.history("nowhere")
        with pytest.raises(ConfigError, match="`limit` is 0"):
            await agent.history("new", limit=0)


async def test_a_fork_goes_its_own_way(set_stage: SetStage, speech: Any, database: str) -> None:
    script = [speech.final(text) for text in ("Paris.", "Berlin.", "Rome.")]
    stage = set_stage(script, database=database)
    agent: ReActAgent = stage.agent
    await agent.run("Capital of France?", thread_id="t")
    before = await agent.history("t")

    fork = await agent.fork("t")
    await agent.run("Of Germany?", thread_id=fork)
    untouched = await agent.history("t")
    await agent.run("Of Italy?", thread_id="t")

    common = [("human", "Capital of France?"), ("ai", "Paris.")]
    assert untouched == before
    assert await saved(agent, fork) == [*common, ("human", "Of Germany?"), ("ai", "Berlin.")]
    assert await saved(agent, "t") == [*common, ("human", "Of Italy?"), ("ai", "Rome.")]
    titles = {info.thread_id: info.title for info in await agent.threads()}
    assert titles == {"t": "Capital of France?", fork: "Capital of France? (fork)"}


async def test_a_fork_of_any_step_can_be_asked_on(
    set_stage: SetStage, speech: Any, database: str
) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}))
    stage = set_stage([call, speech.final("draft"), "3 and 7."], [add], database=database)
    agent: ReActAgent = stage.agent
    await agent.run("Sums?", thread_id="t")
    history = await agent.history("t")
    stage.endpoint.reply(*(speech.final("Sure.") for _ in history))

    for info in history:
        fork = await agent.fork("t", info.checkpoint_id)
        snapshot = await agent.snapshot(fork)
        result = await agent.run("Sure?", thread_id=fork)

        assert (snapshot.next, snapshot.tasks) == ((), ()), info
        assert told(result.messages)[-2:] == [("human", "Sure?"), ("ai", "Sure.")], info
        assert len(result.messages) - 3 >= info.messages, info

    assert stage.endpoint.rejected == []
    assert (await agent.history("t")) == history


async def test_a_fork_knows_what_its_calls_gave() -> None:
    call = AIMessage("", tool_calls=[ADD])
    async with scripted(call, ModelError("down"), "Yes.", database="memory:") as agent:
        with pytest.raises(ModelError, match="down"):
            await agent.run("1 + 2?", thread_id="t")
        calling = next(info for info in await agent.history("t") if info.next == ["act"])

        fork = await agent.fork("t", calling.checkpoint_id)

        messages = (await agent.snapshot(fork)).values["messages"]
    assert told(messages) == [("human", "1 + 2?"), ("ai", ""), ("tool", "3")]


async def test_a_long_thread_is_copied_whole(database: str) -> None:
    backend = await open_backend(database)
    kept: dict[str, Any] = {"checkpointer": backend.checkpointer, "store": backend.store}
    talk = [kind(f"{n}", id=f"{n}") for n in range(400) for kind in (HumanMessage, AIMessage)]
    long = [message.model_copy(update={"id": str(n)}) for n, message in enumerate(talk)]
    graph = build_graph(ScriptedChatModel(replies=["Yes."]), **kept)
    await graph.ainvoke(AgentInput(messages=[*long, HumanMessage("So?")]), CONFIG)

    async with scripted(*(f"{n}." for n in range(6)), **kept) as agent:
        forks = ["t"]
        for n in range(3):
            forks.append(await agent.fork(forks[-1]))
            result = await agent.run(f"And {n}?", thread_id=forks[-1])
        texts = told(result.messages)
        original = await saved(agent, "t")
    await backend.close()

    added = [pair for n in range(3) for pair in (("human", f"And {n}?"), ("ai", f"{n}."))]
    assert original == [*told(long), ("human", "So?"), ("ai", "Yes.")]
    assert texts == [*original, *added]


async def test_a_fork_keeps_what_the_prompt_leaves_out() -> None:
    state = {"messages": [HumanMessage("Hi")], "summary": "They talked.", "cut": 1, "shrunk": 1}
    saver = InMemorySaver()
    graph = build_graph(ScriptedChatModel(replies=[]), checkpointer=saver)
    await graph.aupdate_state(CONFIG, state, as_node="guard_context")

    async with scripted(checkpointer=saver) as agent:
        copied = (await agent.snapshot(await agent.fork("t"))).values

    assert {name: copied[name] for name in ("summary", "cut", "shrunk")} == {
        "summary": "They talked.",
        "cut": 1,
        "shrunk": 1,
    }


async def test_a_fork_needs_a_source_and_a_free_name() -> None:
    async with scripted("Yes.", database="memory:") as agent:
        await agent.run("Hi", thread_id="t")
        await agent.register("new")

        with pytest.raises(ThreadNotFoundError, match="There is no thread nowhere"):
            await agent.fork("nowhere")
        with pytest.raises(ThreadNotFoundError, match="There is no thread new"):
            await agent.fork("new")
        with pytest.raises(ConfigError, match="Thread t has no checkpoint nothing"):
            await agent.fork("t", "nothing")
        for taken in ("t", "new"):
            with pytest.raises(ConfigError, match=f"There is a thread {taken} already"):
                await agent.fork("t", new_thread_id=taken)
        assert await agent.fork("t", new_thread_id="free") == "free"


def test_sync_code_looks_back_and_forks() -> None:
    agent = scripted("Yes.", "No.", database="memory:")
    agent.run_sync("Hi", thread_id="t")

    (newest,) = agent.history_sync("t", limit=1)
    fork = agent.fork_sync("t", newest.checkpoint_id)
    result = agent.run_sync("Sure?", thread_id=fork)
    agent.close()

    assert told(result.messages)[-3:] == [("ai", "Yes."), ("human", "Sure?"), ("ai", "No.")]
