"""What `GET /api/threads/{id}` says of a run that waits for a person."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.types import interrupt

from graph_agent import ReActAgent
from graph_agent.hooks import Ask, Verdict
from graph_agent.testing import ScriptedChatModel

pytestmark = pytest.mark.anyio

Serve = Callable[..., Awaitable[Any]]


def calling(name: str, *replies: str, **args: Any) -> ScriptedChatModel:
    """A model that calls one tool, then replies."""
    call = {"id": "c1", "name": name, "args": args, "type": "tool_call"}
    return ScriptedChatModel(replies=[AIMessage("", tool_calls=[call]), *replies])


async def read(web: Any, thread: str) -> tuple[bool, list[dict[str, Any]]]:
    """Whether the thread has a run in progress, and what waits."""
    state = (await web.client.get(thread)).json()
    return state["running"], state["approvals"]


async def test_a_call_waits_until_the_run_goes_on(inside: Serve) -> None:
    leave = asyncio.Event()

    async def send(to: str) -> str:
        """Send a mail."""
        await leave.wait()
        return "sent"

    model = calling("send", "Done.", to="Ann")
    web = await inside(
        ReActAgent(
            model,
            [send],
            database="memory:",
            synthesis="never",
            pre_tool_use=lambda _: Ask(),
        )
    )
    thread = await web.thread()

    paused = await web.ask(thread)
    waits = await read(web, thread)
    run = await web.runs.resume(thread.rsplit("/", 1)[1], decisions="allow")
    during = await read(web, thread)
    leave.set()
    await run.ended.wait()

    assert [event.event for event in paused][-2:] == ["approval", "end"]
    assert waits == (False, [paused[-2].data])
    assert (during, await read(web, thread)) == ((True, []), (False, []))
    assert run.outcome["answer"] == "Done."


async def test_another_question_gives_the_call_up(inside: Serve) -> None:
    def send(to: str) -> str:
        """Send a mail."""
        raise AssertionError(to)

    def asks(_: Any) -> Verdict:
        return Ask()

    model = calling("send", "As you like.", to="Ann")
    web = await inside(
        ReActAgent(model, [send], database="memory:", synthesis="never", pre_tool_use=asks)
    )
    thread = await web.thread()

    await web.ask(thread)
    before = await read(web, thread)
    await web.ask(thread, "Leave it")

    assert (len(before[1]), await read(web, thread)) == (1, (False, []))


async def test_what_a_tool_asks_by_itself_is_told(inside: Serve) -> None:
    def pay() -> str:
        """Pay."""
        return f"paid: {interrupt({'amount': 3})}"

    web = await inside(
        ReActAgent(calling("pay", "Paid."), [pay], database="memory:", synthesis="never")
    )
    thread = await web.thread()

    await web.ask(thread)
    (question,) = (await read(web, thread))[1]
    resumed = await web.client.post(f"{thread}/resume", json={"decisions": "allow"})

    assert question == {"interrupt_id": question["interrupt_id"], "value": {"amount": 3}}
    assert "paid: allow" in resumed.text
