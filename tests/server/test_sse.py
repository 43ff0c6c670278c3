"""The stream on the wire: frames, heartbeats, and text of every kind."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graph_agent import ReActAgent
from graph_agent.backends import memory_backend
from graph_agent.events import AnswerDelta, End, ThinkingStart
from graph_agent.runs.event_log import EventLog
from graph_agent.runs.stored_log import StoredLog, numbered_from, telling
from graph_agent.server.sse import frames
from graph_agent.testing import ScriptedChatModel, check_events

pytestmark = pytest.mark.anyio

Serve = Callable[..., Awaitable[Any]]
TEXT = "안녕 🙂\n\n# Title\r\n\tdata: no field\n: no comment\u2028end\ufeff"


def pieces(log: EventLog, *, heartbeat: float = 60.0) -> AsyncGenerator[bytes]:
    return frames(log.follow(), heartbeat)


async def test_an_event_is_one_frame_with_its_number() -> None:
    log = EventLog(first_id=7)
    log.append(AnswerDelta(content="a\nb 🙂").wire())
    log.append(End().wire())

    frames = [frame async for frame in pieces(log)]

    assert frames == [
        'event: answer\ndata: {"status":"delta","content":"a\\nb 🙂"}\nid: 7\n\n'.encode(),
        b"event: end\ndata: {}\nid: 8\n\n",
    ]


async def test_comments_keep_a_silent_stream_alive_and_take_no_number() -> None:
    log = EventLog(first_id=1)
    stream = pieces(log, heartbeat=0.01)

    first, second = await anext(stream), await anext(stream)
    log.append(AnswerDelta(content="at last").wire())
    third = await anext(stream)
    log.append(End().wire())
    rest = [frame async for frame in stream]

    assert first == second == b": still here\n\n"
    assert b"id: 1\n" in third
    assert b"at last" in third
    assert [b"id: 2\n" in frame for frame in rest] == [True]


async def test_comments_keep_the_stream_of_a_silent_run_of_another_process_alive() -> None:
    backend = memory_backend()
    number = await backend.events.begin("t")
    events = numbered_from(number, [ThinkingStart(iteration=1).wire()])
    async with backend.leases.hold(telling("t")):
        await backend.events.append("t", number, events)
        run = await backend.events.run("t")
        assert run is not None
        stream = frames(StoredLog(backend, "t", run).follow(), 0.01)

        first, second, third = [await anext(stream) for _ in range(3)]
        await backend.events.append("t", number, numbered_from(number + 1, [End().wire()]))
        rest = [frame async for frame in stream]

    assert f"id: {number}\n".encode() in first
    assert second == third == b": still here\n\n"
    assert [frame for frame in rest if not frame.startswith(b":")] == [
        f"event: end\ndata: {{}}\nid: {number + 1}\n\n".encode()
    ]


async def test_a_reader_that_leaves_leaves_nothing_behind() -> None:
    log = EventLog()
    before = asyncio.all_tasks()
    stream = pieces(log, heartbeat=0.01)
    await anext(stream)

    await stream.aclose()
    await asyncio.sleep(0)

    assert asyncio.all_tasks() == before


async def test_text_arrives_as_it_was_written(serve: Serve) -> None:
    def echo(text: str) -> str:
        """Echo."""
        return text

    call = {"id": "c1", "name": "echo", "args": {"text": TEXT}, "type": "tool_call"}
    model = ScriptedChatModel(replies=[AIMessage("", tool_calls=[call]), "draft", TEXT])
    web = await serve(ReActAgent(model, [echo], database="memory:"))
    thread = await web.thread()

    events = await web.ask(thread, TEXT)

    check_events([event.wire for event in events])
    done = [e.data for e in events if e.data.get("status") == "done" and "observation" in e.data]
    assert (done[0]["tool_args"], done[0]["observation"]) == ({"text": TEXT}, TEXT)
    deltas = [e.data["content"] for e in events if e.data.get("status") == "delta"]
    assert "".join(deltas) == events[-2].data["answer"] == TEXT
    stored = (await web.client.get(thread)).json()["messages"]
    assert [message["content"] for message in stored] == [TEXT, "", TEXT, TEXT]


async def test_half_a_character_in_an_answer_is_replaced(serve: Serve) -> None:
    model = ScriptedChatModel(replies=["half \ud83d\nwhole 🙂"])
    web = await serve(ReActAgent(model, database="memory:"))
    thread = await web.thread()

    events = await web.ask(thread)

    check_events([event.wire for event in events])
    assert events[-2].data["answer"] == "half ?\nwhole 🙂"
    stored = (await web.client.get(thread)).json()["messages"]
    assert stored[-1]["content"] == "half ?\nwhole 🙂"


async def test_half_a_character_is_replaced_in_the_stream() -> None:
    log = EventLog()
    log.append({"event": "step", "data": {"tool_args": {"half \ud83d": ["\udc00", 1]}}})
    log.append(End().wire())

    frames = [frame async for frame in pieces(log)]

    assert b'{"tool_args":{"half ?":["?",1]}}' in frames[0]


async def test_proxies_are_told_to_let_the_stream_through(serve: Serve) -> None:
    web = await serve(ReActAgent(ScriptedChatModel(replies=["Hello!"]), database="memory:"))
    thread = await web.thread()

    response = await web.client.post(f"{thread}/runs", json={"message": "Hi"})

    names = ("content-type", "cache-control", "x-accel-buffering")
    assert [response.headers[name] for name in names] == [
        "text/event-stream; charset=utf-8",
        "no-cache, no-transform",
        "no",
    ]
