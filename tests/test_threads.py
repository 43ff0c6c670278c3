"""The list of threads: titles, times, the order of use; and threads that are deleted."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from graph_agent import ConfigError, ReActAgent, ThreadBusyError, ThreadNotFoundError
from graph_agent.backends import open_backend
from graph_agent.interrupts import InterruptQueue
from graph_agent.testing import Gate, Held, ScriptedChatModel
from graph_agent.threads.listing import TITLE_CHARS, ThreadList, config_for, copy_title

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        pytest.param([""], "", id="not asked yet"),
        pytest.param(["", "First", "Second"], "First", id="the first question stays"),
        pytest.param(["  two\n\n lines "], "two lines", id="one line"),
        pytest.param(["가" * 200], "가" * TITLE_CHARS, id="cut"),
    ],
)
async def test_the_first_text_makes_the_title(texts: list[str], title: str) -> None:
    threads = ThreadList(InMemoryStore())

    for text in texts:
        await threads.touch("t", text)

    (info,) = await threads.newest()
    assert info.title == title
    assert info == await threads.get("t")


async def test_pages_do_not_overlap() -> None:
    threads = ThreadList(InMemoryStore())
    for number in range(25):
        await threads.touch(f"t{number}")

    pages = [await threads.newest(10, offset) for offset in (0, 10, 20, 30)]

    listed = [info.thread_id for page in pages for info in page]
    assert listed == [f"t{number}" for number in reversed(range(25))]
    assert [len(page) for page in pages] == [10, 10, 5, 0]


async def test_a_title_of_ones_own_stays(set_stage: SetStage, speech: Any, database: str) -> None:
    gate = Gate()
    script = [speech.final("Yes."), Held(gate, speech.final("No.")), speech.final("Well.")]
    agent: ReActAgent = set_stage(script, database=database).agent
    await agent.run("First?", thread_id="t")
    run = asyncio.ensure_future(agent.run("Second?", thread_id="t"))
    await gate.reached()

    renamed = await agent.rename("t", "  Rivers \x00\n of Korea ")
    gate.open()
    await run
    await agent.run("Third?", thread_id="t")

    assert renamed.title == "Rivers \ufffd of Korea"
    assert [info.title for info in await agent.threads()] == [renamed.title]
    info = await agent.thread("t")
    assert info is not None
    assert (info.title, info.created_at) == (renamed.title, renamed.created_at)
    assert info.updated_at > renamed.updated_at


@pytest.mark.parametrize(
    "title",
    [
        pytest.param("", id="none"),
        pytest.param(" \n", id="blank"),
        pytest.param("x" * (TITLE_CHARS + 1), id="too long"),
    ],
)
async def test_a_title_is_one_short_line(title: str) -> None:
    async with ReActAgent(ScriptedChatModel(replies=[]), database="memory:") as agent:
        await agent.register("t")

        with pytest.raises(ConfigError, match=r"The title has \d+ characters. Write 1 to 80"):
            await agent.rename("t", title)
        with pytest.raises(ThreadNotFoundError, match="There is no thread nowhere"):
            await agent.rename("nowhere", "Name")

        (info,) = await agent.threads()
        assert info.title == ""


@pytest.mark.parametrize(
    ("title", "copied"),
    [
        pytest.param("Rivers", "Rivers (fork)", id="short"),
        pytest.param("Rivers (fork)", "Rivers (fork) (fork)", id="of a fork"),
        pytest.param("x" * TITLE_CHARS, f"{'x' * (TITLE_CHARS - 7)} (fork)", id="long"),
        pytest.param("", "(fork)", id="none"),
    ],
)
def test_a_fork_is_named_after_its_source(title: str, copied: str) -> None:
    assert copy_title(title) == copied
    assert len(copied) <= TITLE_CHARS


async def test_a_thread_made_without_us_can_be_renamed() -> None:
    saver = InMemorySaver()
    replies = ScriptedChatModel(replies=["Yes."])
    async with ReActAgent(replies, checkpointer=saver) as agent:
        await agent.run("Hi", thread_id="t")
    async with ReActAgent(ScriptedChatModel(replies=[]), checkpointer=saver) as other:
        assert await other.threads() == []

        await other.rename("t", "Found")

        assert [info.title for info in await other.threads()] == ["Found"]


async def test_what_is_deleted_is_gone(set_stage: SetStage, speech: Any, database: str) -> None:
    agent: ReActAgent = set_stage([speech.final("Yes.")] * 3, database=database).agent
    for thread_id in ("t", "other"):
        await agent.run("Hi", thread_id=thread_id)
        await agent.rename(thread_id, "Named")
        await InterruptQueue(await agent.store(), thread_id).put("late")

    await agent.delete("t")

    assert [info.thread_id for info in await agent.threads()] == ["other"]
    assert await InterruptQueue(await agent.store(), "t").pending() == []
    for door in (agent.snapshot, agent.history, agent.export, agent.delete, agent.fork):
        with pytest.raises(ThreadNotFoundError, match="There is no thread t"):
            await door("t")
    kept = await agent.snapshot("other")
    assert [message.text for message in kept.values["messages"]] == ["Hi", "Yes."]
    assert len(await InterruptQueue(await agent.store(), "other").pending()) == 1

    again = await agent.run("Anew", thread_id="t")
    assert [message.text for message in again.messages[1:]] == ["Anew", "Yes."]
    info = await agent.thread("t")
    assert info is not None
    assert info.title == "Anew"


async def test_nothing_of_a_deleted_thread_is_left_on_disk(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.sqlite"
    async with ReActAgent(ScriptedChatModel(replies=["Yes."]), database=url) as agent:
        await agent.run("Hi", thread_id="t")
        await agent.delete("t")
    backend = await open_backend(url)

    assert await backend.checkpointer.aget_tuple(config_for("t")) is None
    assert await backend.store.asearch(("threads",)) == []
    assert await backend.events.run("t") is None
    await backend.close()


async def test_a_thread_with_a_run_is_not_deleted(
    set_stage: SetStage, speech: Any, database: str
) -> None:
    gate = Gate()
    agent: ReActAgent = set_stage([Held(gate, speech.final("Yes."))], database=database).agent
    run = asyncio.ensure_future(agent.run("Hi", thread_id="t"))
    await gate.reached()

    with pytest.raises(ThreadBusyError, match="Thread t is busy"):
        await agent.delete("t")
    gate.open()

    assert (await run).answer == "Yes."
    await agent.delete("t")
    assert await agent.threads() == []


def test_sync_code_renames_and_deletes() -> None:
    agent = ReActAgent(ScriptedChatModel(replies=["Yes."]), database="memory:")
    agent.run_sync("Hi", thread_id="t")

    renamed = agent.rename_sync("t", "Named")
    agent.delete_sync("t")

    assert renamed.title == "Named"
    with pytest.raises(ThreadNotFoundError):
        agent.export_sync("t")
    agent.close()
