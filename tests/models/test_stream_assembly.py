"""A streamed reply is put together as it was meant, or it is no reply at all."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call

from graph_agent.errors import ModelUnavailableError
from graph_agent.models.call_assembly import CallAssembly
from graph_agent.models.reply import in_order, read_arguments
from graph_agent.models.stream_assembly import StreamAssembly
from graph_agent.testing import Deltas, RawBytes
from graph_agent.testing.wire import sse_bytes

Connect = Callable[..., Any]
pytestmark = pytest.mark.anyio


def part(arguments: Any = None, **more: Any) -> dict[str, Any]:
    name = {"name": more.pop("name")} if "name" in more else {}
    return more | {"function": {**name, "arguments": arguments}}


def assembled(*parts: dict[str, Any], known: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
    calls = CallAssembly(known)
    for each in parts:
        calls.add(each)
    functions = [(call["id"], call["function"]) for call in calls.calls()]
    return [(call_id, f["name"], f["arguments"]) for call_id, f in functions]


ONE = [("a", "f", '{"p":1}')]
TWO = [("a", "f", '{"p":1}'), ("b", "g", '{"p":2}')]


@pytest.mark.parametrize(
    ("parts", "calls"),
    [
        pytest.param(
            [
                part("", index=0, id="a", name="f"),
                part('{"p":', index=0),
                part("1}", index=0),
                part('{"p"', index=1, id="b", name="g"),
                part(":2}", index=1),
            ],
            TWO,
            id="as OpenAI",
        ),
        pytest.param(
            [
                part('{"p":', index=0, id="a", name="f"),
                part('{"p":', index=1, id="b", name="g"),
                part("1}", index=0),
                part("2}", index=1),
            ],
            TWO,
            id="taking turns",
        ),
        pytest.param(
            [part('{"p":', id="a", name="f"), part("1}"), part('{"p":2}', id="b", name="g")],
            TWO,
            id="no index",
        ),
        pytest.param(
            [
                part('{"p":', index=0, id="a", name="f"),
                part("1}", index=0),
                part('{"p":', index=0, id="b", name="g"),
                part("2}", index=0),
            ],
            TWO,
            id="always index 0",
        ),
        pytest.param(
            [
                part('{"p":', id="a", name="f"),
                part("1}", index=0),
                part('{"p":', index=1, id="b", name="g"),
                part("2}"),
            ],
            TWO,
            id="an index now and then",
        ),
        pytest.param(
            [part('{"p"', index=1, id="a", name="f"), part(":1}", index=0)],
            ONE,
            id="an index that changes its mind",
        ),
        pytest.param(
            [part('{"p"', index=0, id="a", name="f"), part(":1}", index=0, id="a", name="f")],
            ONE,
            id="name and id repeated",
        ),
        pytest.param(
            [part('{"p"', id="a", name="f"), part(":1}", id="a", name="f")],
            ONE,
            id="name and id repeated, no index",
        ),
        pytest.param(
            [part('{"p"', index=0, id="a", name="f"), part(":1}", index=0, id="", name="")],
            ONE,
            id="empty id and name",
        ),
        pytest.param(
            [part("", index=0, name="f"), part('{"p":1}', index=0, id="a")], ONE, id="id late"
        ),
        pytest.param(
            [part('{"p":1}', name="f"), part('{"p":1}', name="f")],
            [("", "f", '{"p":1}')] * 2,
            id="the same call twice, by name alone",
        ),
        pytest.param(
            [
                part('{"p":1}', index=0, id="a", name="f"),
                part('{"p":2}', index=0, id="a", name="g"),
            ],
            [("a", "f", '{"p":1}'), ("a", "g", '{"p":2}')],
            id="one id for all",
        ),
        pytest.param(
            [part('{"p":1}', index=0, name="f"), part('{"p":2}', index=1, name="f")],
            [("", "f", '{"p":1}'), ("", "f", '{"p":2}')],
            id="by index alone",
        ),
        pytest.param([part({"p": 1}, id="a", name="f")], ONE, id="arguments as an object"),
        pytest.param([{"id": "a", "function": None}], [("a", "", "")], id="nothing in it"),
    ],
)
def test_calls(parts: list[dict[str, Any]], calls: list[tuple[str, str, str]]) -> None:
    assert assembled(*parts, known=("f", "g")) == calls


@pytest.mark.parametrize(
    ("names", "name"),
    [
        pytest.param(["read_", "file"], "read_file", id="split"),
        pytest.param(["read_file", "read_file"], "read_file", id="repeated"),
        pytest.param(["read_", "read_file"], "read_file", id="growing"),
        pytest.param(["go", "go"], "gogo", id="split in equal halves"),
        pytest.param(["new", "new"], "new", id="unknown, repeated"),
        pytest.param(["ne", "w"], "new", id="unknown, split"),
    ],
)
def test_a_name_in_pieces(names: list[str], name: str) -> None:
    parts = [part(None, index=0, id="a", name=each) for each in names]

    assert assembled(*parts, known=("read_file", "gogo")) == [("a", name, "")]


def piece(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta, "finish_reason": finish_reason}]}


CUT = '{"path":"a.txt","content":"hel'


def test_a_cut_call_is_no_call_however_it_is_added_up() -> None:
    assembly = StreamAssembly(["write"])
    call = {"index": 0, "id": "1", "function": {"name": "write", "arguments": CUT}}

    first = assembly.add(piece(tool_calls=[call]))
    last = assembly.end(on_purpose=True)

    for summed in (first + last, assembly.whole()):
        assert isinstance(summed, AIMessage)
        assert summed.tool_calls == []
        (invalid,) = summed.invalid_tool_calls
        assert (invalid["name"], invalid["id"]) == ("write", "1")
        with pytest.raises(ValueError, match=r"JSON object|Unterminated"):
            read_arguments(invalid["args"])
    assert assembly.whole().invalid_tool_calls[0]["args"] == CUT


def test_calls_keep_their_order_where_some_cannot_be_read() -> None:
    assembly = StreamAssembly()
    calls = [
        part(arguments, index=index, id=f"c{index}", name="f")
        for index, arguments in enumerate(["{", "{}", "[1]", "{}"])
    ]
    assembly.add({"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "stop"}]})

    assert [call["id"] for call in in_order(assembly.whole())] == ["c0", "c1", "c2", "c3"]


def test_both_ways_of_adding_up_agree() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    assembly = StreamAssembly()

    chunks = [
        assembly.add({"choices": [], "usage": usage}),
        assembly.add(piece(reasoning_content="Let me ")),
        assembly.add(piece(reasoning_content="see.", content="Hi")),
        assembly.add(piece(tool_calls=[part('{"p":1}', id="a", name="f")]) | {"usage": usage}),
        assembly.add(piece("tool_calls")),
        assembly.add({"choices": None, "usage": usage | {"completion_tokens": 9}}),
        assembly.end(on_purpose=False),
    ]

    summed, whole = sum(chunks[1:], chunks[0]), assembly.whole()
    for message in (summed, whole):
        assert message.text == "Hi"
        assert message.tool_calls == [tool_call(name="f", args={"p": 1}, id="a")]
        assert message.additional_kwargs == {"reasoning_content": "Let me see."}
        assert message.response_metadata == {"finish_reason": "tool_calls"}
        assert message.usage_metadata is not None
        assert message.usage_metadata["total_tokens"] == 14


def test_what_an_endpoint_repeats_is_counted_once() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    assembly = StreamAssembly()

    chunks = [assembly.add(piece(content="a") | {"usage": usage}) for _ in range(9)]
    chunks.append(assembly.end(on_purpose=True))

    total = sum(chunks[1:], chunks[0]).usage_metadata
    assert total is not None
    assert (total["input_tokens"], total["output_tokens"]) == (5, 2)


async def summed(chat: Any) -> AIMessageChunk:
    chunks = [chunk async for chunk in chat.astream("Hello?")]
    whole: AIMessageChunk = sum(chunks[1:], chunks[0])
    return whole


@pytest.mark.parametrize(
    ("finish_reason", "done", "whole"),
    [
        pytest.param("stop", True, True, id="both"),
        pytest.param("stop", False, True, id="a reason"),
        pytest.param(None, True, True, id="[DONE]"),
        pytest.param(None, False, False, id="neither"),
    ],
)
async def test_a_stream_must_say_that_it_is_over(
    connect: Connect, finish_reason: str | None, *, done: bool, whole: bool
) -> None:
    chat, _ = connect([Deltas([{"content": "Hi"}], finish_reason=finish_reason, done=done)])

    if whole:
        assert (await summed(chat)).text == "Hi"
    else:
        with pytest.raises(ModelUnavailableError, match="broke off amid its reply"):
            await summed(chat)


STREAM = sse_bytes(Deltas([{"content": "杭州 🌍"}, {"tool_calls": [part('{"c":"杭"}', name="w")]}]))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
async def test_characters_may_be_split_over_packets(connect: Connect, size: int) -> None:
    chat, _ = connect([RawBytes(STREAM, chunk_size=size)])

    whole = await summed(chat)

    assert (whole.text, whole.tool_calls[0]["args"]) == ("杭州 🌍", {"c": "杭"})


async def test_line_separators_within_a_text_end_no_event(connect: Connect) -> None:
    chat, _ = connect([Deltas([{"content": "a\u2028b\x85c\u2029"}])])

    assert (await summed(chat)).text == "a\u2028b\x85c\u2029"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(STREAM[: len(STREAM) // 2], id="half an event"),
        pytest.param(b"data: 7\n\ndata: [DONE]\n\n", id="no object"),
        pytest.param(b"", id="nothing"),
    ],
)
async def test_what_was_cut_is_no_reply(connect: Connect, data: bytes) -> None:
    chat, _ = connect([RawBytes(data, chunk_size=50)])

    with pytest.raises(ModelUnavailableError):
        await summed(chat)


@pytest.mark.parametrize("cut", [1, 3, 9, 27])
async def test_think_tags_may_be_cut_anywhere(connect: Connect, cut: int) -> None:
    text = "<think>Hm < 1.</think>\n\nParis"
    chat, _ = connect([Deltas([{"content": text[:cut]}, {"content": text[cut:]}])])

    whole = await summed(chat)

    assert (whole.text, whole.additional_kwargs) == ("Paris", {"reasoning_content": "Hm < 1."})


async def test_a_reply_teaches_how_streams_begin(connect: Connect) -> None:
    """Where the template opens the think block, only its end is sent."""
    untold = "Hm.\n</think>\n\nParis"
    chat, _ = connect([untold, untold, "Rome"])

    first = await chat.ainvoke("Capital?")
    streams = [await summed(chat), await summed(chat)]

    assert [first.text, *(stream.text for stream in streams)] == ["Paris", "Paris", "Rome"]


async def test_a_server_of_streams_alone_is_asked_by_streams(connect: Connect) -> None:
    reply = {"content": "Hi", "tool_calls": [{"id": "a", "name": "f", "arguments": "{}"}]}
    chat, endpoint = connect([reply], wire={"stream_only": True})

    whole = await chat.ainvoke("Hello?")

    assert (whole.text, whole.tool_calls) == ("Hi", [tool_call(name="f", args={}, id="a")])
    assert endpoint.requests[0].streamed is True
