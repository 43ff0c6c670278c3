"""One contract for everything that threads can be kept in."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graph_agent import ReActAgent, ThreadBusyError
from graph_agent.backends import Backend, open_backend
from graph_agent.interrupts import Interrupt, InterruptQueue
from graph_agent.testing import ScriptedChatModel
from graph_agent.threads.listing import ThreadList

pytestmark = pytest.mark.anyio


@pytest.fixture
async def backend(database: str) -> AsyncIterator[Backend]:
    opened = await open_backend(database)
    yield opened
    await opened.close()


async def test_a_whole_run_is_kept_with_its_tools(database: str) -> None:
    def look(at: str) -> dict[str, Any]:
        """Look."""
        return {"at": at, "nothing": None, "한국어": [1.5, True]}

    call = {"id": "c1", "name": "look", "args": {"at": "서울 🙂"}, "type": "tool_call"}
    replies = [AIMessage("", tool_calls=[call]), "draft", "Seen.", "Again."]
    async with ReActAgent(ScriptedChatModel(replies=replies), [look], database=database) as agent:
        first = await agent.run("What is there?\x00", thread_id="t")
        second = await agent.run("And now?", thread_id="t")
        listed = await agent.threads()

    assert (first.answer, second.answer) == ("Seen.", "Again.")
    assert first.steps[0].observation == '{"at":"서울 🙂","nothing":null,"한국어":[1.5,true]}'
    assert second.messages[: len(first.messages)] == first.messages
    assert [info.title for info in listed] == ["What is there?\ufffd"]


async def test_interrupts_are_queued_in_order(backend: Backend) -> None:
    queue = InterruptQueue(backend.store, "t")

    put = [await queue.put(f"message {number}") for number in range(130)]

    assert await queue.pending() == put


async def test_each_thread_has_its_own_queue(backend: Backend) -> None:
    names = ["t", "t1", "T", "t_", "t%", "t.1", "t/1"]
    put = {name: await InterruptQueue(backend.store, name).put(f"for {name}") for name in names}
    await backend.store.aput(("interrupts", "t", "below"), "k", {"content": "not ours"})

    for name in names:
        assert await InterruptQueue(backend.store, name).pending() == [put[name]]


async def test_acknowledging_twice_is_acknowledging_once(backend: Backend) -> None:
    queue = InterruptQueue(backend.store, "t")
    first, second = await queue.put("one"), await queue.put("two")

    await queue.acknowledge([first.id, "unknown"])
    await queue.acknowledge([first.id])

    assert await queue.pending() == [second]


async def test_only_what_is_still_queued_can_be_recalled(backend: Backend) -> None:
    queue = InterruptQueue(backend.store, "t")
    put = await queue.put("oh no")

    assert [await queue.recall(put.id), await queue.recall(put.id)] == [True, False]

    assert await queue.pending() == []


async def test_what_a_run_has_taken_cannot_be_recalled_and_stays_until_it_is_saved(
    backend: Backend,
) -> None:
    queue = InterruptQueue(backend.store, "t")
    first, second = await queue.put("one"), await queue.put("two")
    await queue.recall(second.id)

    assert await queue.take([first, second]) == [first]

    assert not await queue.recall(first.id)
    assert await queue.pending() == [first]


async def test_any_text_can_be_queued(backend: Backend) -> None:
    queue = InterruptQueue(backend.store, "t")

    put = await queue.put("NUL \x00, half \ud83d, 한국어 🙂\n'\"\\")

    assert put.content == "NUL \ufffd, half ?, 한국어 🙂\n'\"\\"
    assert await queue.pending() == [put]


async def test_any_client_of_the_store_can_interrupt(backend: Backend) -> None:
    await backend.store.aput(("interrupts", "t"), "by-hand", {"content": "stop"})

    assert await InterruptQueue(backend.store, "t").pending() == [Interrupt("by-hand", "stop")]


async def test_a_lease_is_seen_by_others_while_it_is_held(database: str, backend: Backend) -> None:
    other = backend if database == "memory:" else await open_backend(database)
    async with backend.leases.hold("t"):
        during = [await other.leases.held("t"), await other.leases.held("u")]
        with pytest.raises(ThreadBusyError):
            async with other.leases.hold("t"):
                pass
    after = await other.leases.held("t")
    if other is not backend:
        await other.close()

    assert (during, after) == ([True, False], False)


async def test_threads_are_listed_by_their_last_use(backend: Backend) -> None:
    threads = ThreadList(backend.store)
    for thread_id in ("a", "b", "c"):
        await threads.touch(thread_id, f"  Question\nof {thread_id}  ")
    await threads.touch("a", "Another question")

    assert [info.thread_id for info in await threads.newest()] == ["a", "c", "b"]
    assert [info.thread_id for info in await threads.newest(1, 1)] == ["c"]
    found = await threads.get("a")
    assert found is not None
    assert found.title == "Question of a"
    assert found.created_at < found.updated_at
    assert await threads.get("nowhere") is None


async def test_a_thread_has_one_holder_at_a_time(backend: Backend) -> None:
    async with backend.leases.hold("t"):
        with pytest.raises(ThreadBusyError):
            async with backend.leases.hold("t"):
                pytest.fail("held twice")
        async with backend.leases.hold("another"):
            pass

    async with backend.leases.hold("t"):
        pass


async def test_a_holder_that_fails_or_is_cancelled_frees_the_thread(backend: Backend) -> None:
    held = asyncio.Event()

    async def hold_for_ever() -> None:
        async with backend.leases.hold("t"):
            held.set()
            await asyncio.Event().wait()

    holder = asyncio.ensure_future(hold_for_ever())
    await held.wait()
    holder.cancel()
    await asyncio.wait([holder])
    with pytest.raises(LookupError):
        async with backend.leases.hold("t"):
            raise LookupError

    async with backend.leases.hold("t"):
        pass


@pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
async def test_the_lease_holds_across_openings_and_ends_with_its_holder(database: str) -> None:
    mine, theirs = await open_backend(database), await open_backend(database)
    async with mine.leases.hold("t"):
        with pytest.raises(ThreadBusyError):
            async with theirs.leases.hold("t"):
                pytest.fail("held twice")
    async with theirs.leases.hold("t"):
        await mine.close()

    await theirs.close()


@pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
async def test_what_was_stored_is_there_after_reopening(database: str) -> None:
    for turn in (1, 2):
        model = ScriptedChatModel(replies=["Yes."])
        async with ReActAgent(model, database=database) as agent:
            result = await agent.run("Hi", thread_id="t")
            queue = InterruptQueue(await agent.store(), "u")
            await queue.put(f"message {turn}")
            queued = await queue.pending()

    assert len(result.messages) == 5
    assert [item.content for item in queued] == ["message 1", "message 2"]


@pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
async def test_several_may_open_an_empty_database_at_once(database: str) -> None:
    opened = await asyncio.gather(*(open_backend(database) for _ in range(4)))

    for number, backend in enumerate(opened):
        await ThreadList(backend.store).touch(f"thread {number}")
    listed = [await ThreadList(backend.store).newest() for backend in opened]
    for backend in opened:
        await backend.close()

    newest_first = [f"thread {number}" for number in reversed(range(4))]
    assert [[info.thread_id for info in each] for each in listed] == [newest_first] * 4
