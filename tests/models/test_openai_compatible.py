import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, cast

import anyio
import orjson
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import tool

from graph_agent.bridge import run_sync
from graph_agent.models.message_form import to_wire
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.testing import Deltas, Gate, Held, Silence, StrictEndpoint

Connect = Callable[..., Any]

pytestmark = pytest.mark.anyio


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
}
CONVERSATION = [
    SystemMessage("Be brief."),
    HumanMessage("2 + 3, 서울?"),
    AIMessage("", tool_calls=[tool_call(name="add", args={"a": 2, "b": 3}, id="c1")]),
    ToolMessage("5", tool_call_id="c1"),
]
SENT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "2 + 3, 서울?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "add", "arguments": '{"a":2,"b":3}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "5"},
]


async def test_a_request_is_what_an_endpoint_expects(connect: Connect) -> None:
    chat, endpoint = connect(["5"], {"api_key": "sk-secret"}, temperature=0.5, max_tokens=100)

    reply = await chat.bind_tools([add], parallel_tool_calls=True).ainvoke(CONVERSATION)

    assert reply.text == "5"
    (request,) = endpoint.requests
    assert request.body == {
        "model": "fake",
        "temperature": 0.5,
        "max_tokens": 100,
        "parallel_tool_calls": True,
        "tools": [ADD],
        "messages": SENT,
    }
    assert request.headers["content-type"] == "application/json"
    assert "서울".encode() in request.raw


@pytest.mark.parametrize(
    ("settings", "call", "parameters"),
    [
        pytest.param({}, {}, {}, id="nothing more"),
        pytest.param(
            {"max_tokens": 7, "wire": {"token_limit": "max_completion_tokens"}},
            {},
            {"max_completion_tokens": 7},
            id="OpenAI's own name of the limit",
        ),
        pytest.param({"max_tokens": 7}, {"max_tokens": 3}, {"max_tokens": 3}, id="limit of a call"),
        pytest.param(
            {},
            {"response_format": {"type": "json_object"}},
            {"response_format": {"type": "json_object"}},
            id="response format",
        ),
        pytest.param({}, {"stop": ["\n"]}, {"stop": ["\n"]}, id="stop"),
        pytest.param({"extra_body": {"seed": 1}}, {}, {"seed": 1}, id="extra body"),
        pytest.param({"seed": 2}, {"extra_body": {"seed": 1}}, {"seed": 1}, id="extra body wins"),
        pytest.param({"seed": 2}, {"seed": 3, "n": 1}, {"seed": 3, "n": 1}, id="of a call"),
        pytest.param(
            {
                "top_p": 0.5,
                "presence_penalty": 0.1,
                "frequency_penalty": 0.2,
                "reasoning_effort": "low",
                "stop": ["\n"],
            },
            {},
            {
                "top_p": 0.5,
                "presence_penalty": 0.1,
                "frequency_penalty": 0.2,
                "reasoning_effort": "low",
                "stop": ["\n"],
            },
            id="OpenAI's names",
        ),
    ],
)
async def test_parameters(
    connect: Connect, settings: dict[str, Any], call: dict[str, Any], parameters: dict[str, Any]
) -> None:
    chat, endpoint = connect(["hi"], **settings)

    await chat.ainvoke("As json, please.", **call)

    messages = [{"role": "user", "content": "As json, please."}]
    assert endpoint.requests[0].body == {"model": "fake", "messages": messages} | parameters


class CountedToolMessage(ToolMessage):
    """Tells how often its text was taken."""

    @property
    def text(self) -> Any:
        self.artifact.append("read")
        return super().text


async def test_a_message_is_encoded_once_in_all_requests(connect: Connect) -> None:
    chat, endpoint = connect(["a", "b", "c"])
    counted = CountedToolMessage(content="5", tool_call_id="c1", artifact=[])
    conversation = [*CONVERSATION[:-1], counted]

    for _ in range(3):
        await chat.ainvoke(conversation)

    assert counted.artifact == ["read"]
    assert [request.body["messages"] for request in endpoint.requests] == [SENT] * 3


async def test_a_stream_asks_for_usage_and_reports_it(connect: Connect) -> None:
    reply = {
        "reasoning_content": "Let me think.",
        "content": "서울, 부산",
        "usage": {"prompt_tokens": 9, "completion_tokens": 4},
    }
    chat, endpoint = connect([reply])

    chunks = [chunk async for chunk in chat.astream("Cities?")]

    assert endpoint.requests[0].body == {
        "model": "fake",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "Cities?"}],
    }
    whole = sum(chunks[1:], chunks[0])
    assert whole.text == "서울, 부산"
    assert whole.additional_kwargs == {"reasoning_content": "Let me think."}
    assert whole.response_metadata["finish_reason"] == "stop"
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["total_tokens"] == 13
    assert len({chunk.id for chunk in chunks}) == 1


async def test_reasoning_of_a_whole_reply_is_kept_apart(connect: Connect) -> None:
    chat, _ = connect([{"content": "Seoul", "reasoning_content": "Korea?"}])

    reply = await chat.ainvoke("Capital?")

    assert (reply.text, reply.additional_kwargs) == ("Seoul", {"reasoning_content": "Korea?"})


@pytest.mark.parametrize(
    "silence",
    [
        pytest.param(Silence([{"role": "assistant"}]), id="before any text"),
        pytest.param(Silence([{"content": "a"}]), id="after text"),
    ],
)
async def test_a_silent_stream_times_out(connect: Connect, silence: Silence) -> None:
    chat, endpoint = connect([silence], stream_idle_timeout=0.1)

    with pytest.raises(TimeoutError):
        [chunk async for chunk in chat.astream("Hello?")]

    assert await anyio.to_thread.run_sync(endpoint.requests[0].left.wait, 5)


async def test_a_slow_stream_is_not_silent(connect: Connect) -> None:
    slow = Deltas([{"content": "a"}] * 8, interval=0.05)
    chat, _ = connect([slow], stream_idle_timeout=0.3)

    assert "".join([chunk.text async for chunk in chat.astream("Hello?")]) == "a" * 8


async def test_a_cancelled_call_ends_at_once_and_hangs_up(connect: Connect) -> None:
    gate = Gate()
    chat, endpoint = connect([Held(gate, "late")])
    asking = asyncio.create_task(chat.ainvoke("Hello?"))
    await gate.reached()

    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, timeout=1)
    assert await anyio.to_thread.run_sync(endpoint.requests[0].left.wait, 5)


async def test_a_closed_stream_hangs_up(connect: Connect) -> None:
    gate = Gate()
    chat, endpoint = connect([Deltas([{"content": "a"}, gate, {"content": "b"}])])

    pieces = cast("Any", chat.astream("Hello?"))
    async with aclosing(pieces):
        assert (await anext(pieces)).text == "a"
        await gate.reached()

    assert await anyio.to_thread.run_sync(endpoint.requests[0].left.wait, 5)


def test_each_event_loop_has_its_own_connections() -> None:
    with StrictEndpoint(["one", "two", "three"]) as endpoint:
        chat = CompatibleChatModel(model="fake", base_url=endpoint.base_url, api_key="k")

        async def ask() -> str:
            first = (await chat.ainvoke("Hello?")).text
            await chat.aclose()
            return first

        # Warnings are errors here: a connection left open would fail the test.
        assert [asyncio.run(ask()), asyncio.run(ask())] == ["one", "two"]
        assert chat.invoke("Hello?").text == "three"
        run_sync(chat.aclose())


UNCLOSED = """
import asyncio
from graph_agent.models.message_form import to_wire
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.testing import StrictEndpoint

async def ask(chat):
    return (await chat.ainvoke("Hello?")).text

with StrictEndpoint(["one", "two"]) as endpoint:
    chat = CompatibleChatModel(model="fake", base_url=endpoint.base_url, api_key="k")
    print(asyncio.run(ask(chat)), asyncio.run(ask(chat)))
"""


def test_connections_left_open_do_no_harm() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNCLOSED], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "one two\n", "")


async def test_it_works_again_after_it_was_closed(connect: Connect) -> None:
    chat, _ = connect(["one", "two"])

    first = await chat.ainvoke("Hello?")
    await chat.aclose()

    assert [first.text, (await chat.ainvoke("Hello?")).text] == ["one", "two"]


def test_from_sync_code_a_stream_comes_in_one_piece() -> None:
    with StrictEndpoint([{"content": "hi", "reasoning_content": "hm"}]) as endpoint:
        chat = CompatibleChatModel(model="fake", base_url=endpoint.base_url, api_key="k")

        pieces = list(chat.stream("Hello?"))
        run_sync(chat.aclose())

    whole = sum(pieces[1:], pieces[0])
    assert (whole.text, whole.additional_kwargs) == ("hi", {"reasoning_content": "hm"})
    assert endpoint.requests[0].streamed is False


def test_the_key_is_in_no_text() -> None:
    chat = CompatibleChatModel(model="fake", base_url="http://127.0.0.1/v1", api_key="sk-secret")

    assert "sk-secret" not in f"{chat!r} {chat} {chat.model_dump()} {chat.to_json()}"


async def test_a_long_conversation_costs_no_more_than_its_bytes(connect: Connect) -> None:
    """The request is a join: the client's own walk over the messages is not taken."""
    chat, endpoint = connect(["ok"])
    history = [kind(f"{n}") for n in range(1_000) for kind in (HumanMessage, AIMessage)]

    await chat.ainvoke(history)

    raw = endpoint.requests[0].raw
    assert raw == orjson.dumps(
        {"model": "fake", "messages": [to_wire(message) for message in history]}
    )
