"""The API as a client uses it, over real connections."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graph_agent import ReActAgent
from graph_agent.hooks import Ask
from graph_agent.runs.runs import Runs
from graph_agent.testing import Gate, Held, HttpError, ScriptedChatModel, check_events

pytestmark = pytest.mark.anyio

Serve = Callable[..., Awaitable[Any]]
SetStage = Callable[..., Any]
JSON = {"Accept": "application/json"}


def scripted(*replies: Any, tools: Any = ()) -> ReActAgent:
    return ReActAgent(ScriptedChatModel(replies=[*replies]), tools, database="memory:")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_threads_are_made_and_listed(inside: Serve) -> None:
    web = await inside(scripted("Hello!"))
    unused, used = await web.thread(), await web.thread()
    await web.ask(used, "What is new?")

    listed = (await web.client.get("/api/threads")).json()
    second = (await web.client.get("/api/threads?limit=1&offset=1")).json()

    found = [(f"/api/threads/{info['thread_id']}", info["title"]) for info in listed]
    assert found == [(used, "What is new?"), (unused, "")]
    assert second == listed[1:]
    assert listed[0]["created_at"] < listed[0]["updated_at"]


async def test_a_thread_shows_what_a_person_saw(
    inside: Serve, set_stage: SetStage, speech: Any
) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}))
    web = await inside(set_stage([call, speech.final("draft"), "It is **3**."], [add]).agent)
    thread = await web.thread()
    empty = (await web.client.get(thread)).json()
    await web.ask(thread, "1 + 2?")

    shown = (await web.client.get(thread)).json()

    assert empty == {
        "thread_id": thread.removeprefix("/api/threads/"),
        "title": "",
        "running": False,
        "approvals": [],
        "messages": [],
    }
    user, calling, result, answer = shown["messages"]
    assert (shown["title"], shown["running"]) == ("1 + 2?", False)
    assert user == {"role": "user", "content": "1 + 2?"}
    (made,) = calling["tool_calls"]
    assert (made["name"], made["args"]) == ("add", {"a": 1, "b": 2})
    assert isinstance(result.pop("iter_elapsed"), float)
    assert result == {
        "role": "tool",
        "content": "3",
        "name": "add",
        "tool_call_id": made["id"],
        "status": "success",
    }
    assert answer == {"role": "assistant", "content": "It is **3**.", "tool_calls": []}


async def test_a_run_streams_its_events(serve: Serve, set_stage: SetStage, speech: Any) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}))
    web = await serve(set_stage([call, speech.final("draft"), "It is 3."], [add]).agent)
    thread = await web.thread()

    events = await web.ask(thread, [{"type": "text", "text": "1 + 2?"}])

    check_events([event.wire for event in events])
    assert events[-2].data["answer"] == "It is 3."
    assert events[-2].data["thread_id"] == thread.removeprefix("/api/threads/")
    ids = [event.id for event in events]
    assert ids == list(range(ids[0], ids[0] + len(ids)))


async def test_a_run_can_be_waited_for_in_json(inside: Serve) -> None:
    web = await inside(scripted("Hello!"))
    thread = await web.thread()

    response = await web.client.post(f"{thread}/runs", json={"message": "Hi"}, headers=JSON)

    assert response.headers["content-type"] == "application/json"
    assert (response.json()["answer"], response.json()["stop_reason"]) == ("Hello!", "final")
    assert response.json() == (await web.follow(thread))[-2].data


async def test_events_are_read_again_from_any_place(inside: Serve) -> None:
    web = await inside(scripted("one\ntwo\nthree", "again"))
    thread = await web.thread()
    first = await web.ask(thread)

    for count in range(len(first)):
        assert await web.follow(thread, first[count].id) == first[count + 1 :]
    assert await web.follow(thread) == first
    assert await web.follow(thread, first[-1].id + 10**6) == first
    second = await web.ask(thread)
    assert second[0].id > first[-1].id
    assert await web.follow(thread, first[3].id) == second


async def test_without_a_run_there_are_no_events(inside: Serve) -> None:
    web = await inside(scripted())

    response = await web.client.get(f"{await web.thread()}/events")

    assert (response.status_code, response.json()["code"]) == (404, "http")


async def test_a_run_outlives_its_client(serve: Serve, set_stage: SetStage, speech: Any) -> None:
    gate = Gate()
    stage = set_stage([Held(gate, speech.final("Still here."))])
    web = await serve(stage.agent)
    thread = await web.thread()
    reader, writer = await web.connect("POST", f"{thread}/runs", b'{"message":"Hi"}')
    seen = await reader.readuntil(b'"status":"start"')
    await gate.reached()
    writer.transport.abort()

    assert (await web.client.get(thread)).json()["running"] is True
    follower = asyncio.ensure_future(web.follow(thread))
    gate.open()
    events = await follower

    assert b"HTTP/1.1 200 OK" in seen
    check_events([event.wire for event in events])
    assert events[-2].data["answer"] == "Still here."
    assert (await web.client.get(thread)).json()["running"] is False


async def test_two_follow_one_run_and_a_slow_one_holds_nobody_up(serve: Serve) -> None:
    lines = "".join(f"{number} {'x' * 1000}\n" for number in range(3000))
    leave = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        await leave.wait()
        return "done"

    call = {"id": "c1", "name": "wait", "args": {}, "type": "tool_call"}
    replies = [AIMessage("", tool_calls=[call]), "draft", lines]
    web = await serve(scripted(*replies, tools=[wait]))
    thread = await web.thread()
    run = web.client.stream("POST", f"{thread}/runs", json={"message": "Hi"})
    async with run as slow:  # Its 3 MB are not read before the run is over.
        follower = asyncio.ensure_future(web.follow(thread))
        leave.set()
        events = await follower
        over = (await web.client.get(thread)).json()["running"]
        late = web.read((await slow.aread()).decode())

    assert over is False
    assert events[-2].data["answer"] == lines
    assert late == events


async def test_a_second_run_is_refused_while_one_is_in_progress(
    serve: Serve, set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    web = await serve(set_stage([Held(gate, speech.final("one")), speech.final("two")]).agent)
    thread = await web.thread()
    first = asyncio.ensure_future(web.ask(thread))
    await gate.reached()

    second = await web.client.post(f"{thread}/runs", json={"message": "Me too"})
    gate.open()

    assert (second.status_code, second.json()["code"]) == (409, "busy")
    assert (await first)[-2].data["answer"] == "one"
    assert (await web.ask(thread))[-2].data["answer"] == "two"


async def test_the_next_run_starts_on_seeing_the_end_of_the_last(inside: Serve) -> None:
    web = await inside(scripted(*(f"answer {number}" for number in range(20))))
    thread = await web.thread()

    answers = [(await web.ask(thread))[-2].data["answer"] for _ in range(20)]

    assert answers == [f"answer {number}" for number in range(20)]


async def test_a_message_reaches_the_run_in_progress(
    serve: Serve, set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    stage = set_stage([Held(gate, speech.final("Draft.")), speech.final("In French.")])
    web = await serve(stage.agent)
    thread = await web.thread()
    early = await web.client.post(f"{thread}/interrupts", json={"content": "too early"})
    run = asyncio.ensure_future(web.ask(thread))
    await gate.reached()

    kept, recalled = [
        await web.client.post(f"{thread}/interrupts", json={"content": text})
        for text in ("In French, please.", "oh no")
    ]
    taken = [
        await web.client.delete(f"{thread}/interrupts/{recalled.json()['id']}") for _ in range(2)
    ]
    gate.open()
    events = await run
    late = await web.client.post(f"{thread}/interrupts", json={"content": "too late"})

    assert (kept.status_code, kept.json()["status"]) == (202, "queued")
    assert [response.status_code for response in taken] == [204, 409]
    assert (early.status_code, late.status_code) == (409, 409)
    injected = [event.data for event in events if event.event == "inject"]
    assert [data["ids"] for data in injected] == [[kept.json()["id"]]]
    assert events[-2].data["answer"] == "In French."
    check_events([event.wire for event in events])


async def test_a_blank_message_is_no_interrupt(
    serve: Serve, set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    web = await serve(set_stage([Held(gate, speech.final("Yes."))]).agent)
    thread = await web.thread()
    run = asyncio.ensure_future(web.ask(thread))
    await gate.reached()

    blank = [
        (await web.client.post(f"{thread}/interrupts", json={"content": text})).status_code
        for text in ("", " ")
    ]
    gate.open()

    assert blank == [422, 400]
    assert (await run)[-2].data["answer"] == "Yes."


async def test_a_run_is_cancelled_and_the_thread_goes_on(
    serve: Serve, set_stage: SetStage, speech: Any
) -> None:
    entered = asyncio.Event()

    async def wait() -> None:
        """Wait."""
        entered.set()
        await asyncio.Event().wait()

    stage = set_stage([speech.calls(("wait", {})), speech.final("Here."), "Here."], [wait])
    web = await serve(stage.agent)
    thread = await web.thread()
    run = asyncio.ensure_future(web.ask(thread))
    await entered.wait()

    first, second = [(await web.client.post(f"{thread}/cancel")).json() for _ in range(2)]
    events = await run
    again = await web.ask(thread, "Still there?")

    assert (first, second) == ({"cancelled": True}, {"cancelled": False})
    check_events([event.wire for event in events])
    assert events[-2].data["code"] == "cancelled"
    assert again[-2].data["answer"] == "Here."
    assert stage.endpoint.rejected == []


async def test_a_cancel_that_takes_too_long_elsewhere_is_told(inside: Serve) -> None:
    class Stuck(Runs):
        async def cancel(self, thread_id: str) -> bool:
            raise TimeoutError

    agent = scripted()
    web = await inside(agent)
    thread = await web.thread()
    web.app.state.runs = Stuck(agent)

    response = await web.client.post(f"{thread}/cancel")

    assert (response.status_code, response.json()) == (202, {"cancelled": False})


async def test_a_cancelled_run_is_a_conflict_where_json_was_asked_for(
    serve: Serve, set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    web = await serve(set_stage([Held(gate, speech.final("never"))]).agent)
    thread = await web.thread()
    run = asyncio.ensure_future(
        web.client.post(f"{thread}/runs", json={"message": "Hi"}, headers=JSON)
    )
    await gate.reached()

    await web.client.post(f"{thread}/cancel")
    gate.open()

    response = await run
    assert (response.status_code, response.json()["code"]) == (409, "cancelled")


async def test_a_cancelled_run_is_resumed(serve: Serve, set_stage: SetStage, speech: Any) -> None:
    first, second = Gate(), Gate()
    script = [Held(first, speech.final("never")), Held(second, speech.final("Resumed."))]
    web = await serve(set_stage(script).agent)
    thread = await web.thread()
    asking = asyncio.ensure_future(web.ask(thread))
    await first.reached()
    busy = await web.client.post(f"{thread}/resume")
    await web.client.post(f"{thread}/cancel")
    first.open()
    before = await asking

    resuming = asyncio.ensure_future(web.client.post(f"{thread}/resume", json={}))
    await second.reached()
    following = asyncio.ensure_future(web.follow(thread))
    second.open()
    events = web.read((await resuming).text)

    assert (busy.status_code, busy.json()["code"]) == (409, "busy")
    check_events([event.wire for event in events], resumed=True)
    assert events[-2].data["answer"] == "Resumed."
    assert events[0].id > before[-1].id
    assert await following == events
    shown = (await web.client.get(thread)).json()["messages"]
    assert [message["content"] for message in shown] == ["Hi", "Resumed."]


async def test_a_resumed_run_can_be_waited_for_in_json(
    serve: Serve, set_stage: SetStage, speech: Any
) -> None:
    failure = HttpError(status=500)
    web = await serve(set_stage([failure, speech.final("Resumed.")]).agent)
    thread = await web.thread()
    failed = await web.ask(thread)

    response = await web.client.post(f"{thread}/resume", headers=JSON)

    assert failed[-2].event == "error"
    assert (response.status_code, response.json()["answer"]) == (200, "Resumed.")
    assert (await web.follow(thread))[-2].data == response.json()


async def test_a_run_that_waits_for_a_person_goes_on_with_decisions(inside: Serve) -> None:
    call = {"id": "c1", "name": "add", "args": {"a": 1, "b": 2}, "type": "tool_call"}
    model = ScriptedChatModel(replies=[AIMessage("", tool_calls=[call]), "draft", "Three."])
    agent = ReActAgent(model, [add], database="memory:", pre_tool_use=lambda _: Ask())
    web = await inside(agent)
    thread = await web.thread()

    waits = await web.client.post(f"{thread}/runs", json={"message": "1 + 2?"}, headers=JSON)
    paused = await web.follow(thread)
    undecided = await web.client.post(f"{thread}/resume", json={"decisions": {}})
    asked = (await web.client.get(thread)).json()["approvals"]
    (approval,) = (event.data for event in paused if event.event == "approval")
    decisions = {approval["interrupt_id"]: "allow"}
    resumed = await web.client.post(f"{thread}/resume", json={"decisions": decisions})

    for response in (waits, undecided):
        assert (response.status_code, response.json()["code"]) == (409, "approval_needed")
        assert "waits for a decision about `add`" in response.json()["detail"]
    check_events([event.wire for event in paused])
    assert approval["tool_args"] == {"a": 1, "b": 2}
    assert asked == [approval]
    assert (await web.client.get(thread)).json()["approvals"] == []
    events = web.read(resumed.text)
    check_events([event.wire for event in events], resumed=True)
    assert events[-2].data["answer"] == "Three."
    assert events[0].id > paused[-1].id


@pytest.mark.parametrize(
    ("asked", "body", "detail"),
    [
        pytest.param(False, None, "has nothing to resume: it was asked nothing", id="unused"),
        pytest.param(True, None, "has nothing to resume: its last run ended", id="ended"),
        pytest.param(True, {"decisions": {}}, "has nothing to resume", id="no decision"),
        pytest.param(
            *(True, {"decisions": {"c1": "allow"}}, "waits for a decision"), id="a decision"
        ),
    ],
)
async def test_where_there_is_nothing_to_resume_that_is_told(
    inside: Serve, asked: bool, body: Any, detail: str
) -> None:
    web = await inside(scripted("Hello!"))
    thread = await web.thread()
    events = await web.ask(thread) if asked else []

    response = await web.client.post(f"{thread}/resume", json=body)

    assert (response.status_code, response.json()["code"]) == (400, "config")
    assert detail in response.json()["detail"]
    assert not asked or await web.follow(thread) == events


async def test_what_can_be_chosen_is_listed(
    inside: Serve, set_stage: SetStage, speech: Any
) -> None:
    web = await inside(set_stage([speech.final("Yes.")], [add]).agent)
    thread = await web.thread()

    models = (await web.client.get("/api/models")).json()
    tools = (await web.client.get("/api/tools")).json()
    chosen = await web.client.post(
        f"{thread}/runs", json={"message": "Hi", "model": "fake"}, headers=JSON
    )

    assert (models["default"], models["models"]) == ("fake", ["fake"])
    assert set(models) == {"default", "models", "abilities", "context_size"}
    assert tools == [{"name": "add", "description": "Add two numbers."}]
    assert chosen.json()["answer"] == "Yes."


async def test_stopping_the_server_ends_its_runs(
    serve: Serve, set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    web = await serve(set_stage([Held(gate, speech.final("never"))]).agent)
    thread = await web.thread()
    run = await web.runs.start(thread.removeprefix("/api/threads/"), "Hi")
    await gate.reached()

    async with web.app.router.lifespan_context(web.app):
        pass
    gate.open()

    check_events([numbered.event async for numbered in run.log.follow()])
    assert not run.running
