"""Group A, its texts: replies in blocks, and characters that no encoding holds."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import orjson
import pytest
from langchain_core.messages import HumanMessage

from graph_agent import ReActAgent, structured_llm_call
from graph_agent.server.app import create_app
from graph_agent.testing.replies import Deltas

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
THOUGHT = {"type": "reasoning", "text": "hm"}


def in_blocks(text: str) -> list[dict[str, str]]:
    """A reply's text in two blocks, behind one that holds a thought."""
    parts = (text[: len(text) // 2], text[len(text) // 2 :])
    return [THOUGHT, *({"type": "text", "text": part} for part in parts)]


def ping() -> str:
    """Answer."""
    return "pong"


async def test_an_answer_in_blocks_is_read(set_stage: SetStage, speech: Any) -> None:
    """B24."""
    stage = set_stage([{"content": in_blocks(speech.final("Paris"))}])

    events = await stage.ask("q")

    assert [e["data"]["content"] for e in events if "content" in e["data"]] == ["Paris"]
    assert events[-2]["data"]["answer"] == "Paris"
    [_, answer] = (await stage.agent.snapshot("thread")).values["messages"]
    assert answer.content == "Paris"


async def test_the_next_turn_sends_it_as_text(set_stage: SetStage, speech: Any) -> None:
    """B24."""
    stage = set_stage([{"content": in_blocks(speech.final("Paris"))}, speech.final("Yes.")])
    await stage.ask("q")

    assert await stage.answer("Sure?") == "Yes."

    said = next(content for role, content in stage.sent(1) if role == "assistant")
    assert said == speech.final("Paris")


async def test_a_stream_of_blocks_is_shown(set_stage: SetStage, speech: Any) -> None:
    """B24."""
    stream = Deltas([{"content": [THOUGHT]}, *({"content": [b]} for b in in_blocks("Paris")[1:])])
    stage = set_stage([speech.calls(("ping", {})), speech.final("draft"), stream], [ping])

    assert await stage.answer("q") == "Paris"


async def test_data_in_blocks_are_read(set_stage: SetStage) -> None:
    """B24."""
    stage = set_stage([{"content": in_blocks('{"n": 3}')}])
    schema = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
    asked = [HumanMessage("Which number?")]

    assert (await structured_llm_call(stage.agent.model, asked, schema)).value == {"n": 3}


HALF = r'{"s": "\ud83d"}'
HALVES: dict[str, Any] = {
    "native": {
        "tool_calls": [
            {"id": "1", "name": "half", "arguments": "{}"},
            {"id": "2", "name": "echo", "arguments": HALF},
        ]
    },
    "json": '{"type": "tool_call", "tool": "half", "args": {}}\n'
    f'{{"type": "tool_call", "tool": "echo", "args": {HALF}}}',
}
"""Two calls; the arguments of one hold half a character, escaped."""


def half() -> str:
    """Give half a character."""
    return "x\ud83dy"


def echo(s: str) -> str:
    """Give back.

    Args:
        s: Anything.
    """
    return s


@pytest.fixture
async def open_web() -> AsyncIterator[Callable[..., Any]]:
    """Serve an agent without a network."""
    async with AsyncExitStack() as opened:

        async def one(agent: ReActAgent) -> httpx.AsyncClient:
            app = create_app(agent=agent)
            await opened.enter_async_context(app.router.lifespan_context(app))
            client = httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://localhost"
            )
            return await opened.enter_async_context(client)

        yield one


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
async def test_half_a_character_leaves_no_trace_anywhere(
    set_stage: SetStage, speech: Any, open_web: Callable[..., Any], accept: str
) -> None:
    """B23."""
    raw = HALVES[speech.mode]
    stage = set_stage([raw, speech.final("draft"), "fine"], [half, echo])
    web = await open_web(stage.agent)
    thread = (await web.post("/api/threads")).json()["thread_id"]

    body = b'{"message": "q \\udc9d"}'
    headers = {"Accept": accept, "Content-Type": "application/json"}
    response = await web.post(f"/api/threads/{thread}/runs", content=body, headers=headers)

    assert response.status_code == 200, response.text
    assert '"answer":"fine"' in response.content.decode("utf-8", "strict")
    kept = (await stage.agent.snapshot(thread)).values["messages"]
    assert [m.text.encode() for m in kept] == [b"q ?", b"", b"x?y", b"?", b"fine"]
    assert (await web.get(f"/api/threads/{thread}")).json()["messages"][0]["content"] == "q ?"
    for request in stage.endpoint.requests:
        assert not request.malformed
        orjson.dumps(request.body)
