"""What a stream looks like, in order and out of order, over real HTTP."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from graph_agent.testing.endpoint import StrictEndpoint
from graph_agent.testing.replies import Deltas, Json, RawBytes
from graph_agent.testing.wire import sse_bytes

Ask = Callable[..., httpx.Response]
STREAM = {"stream": True}
USAGE = STREAM | {"stream_options": {"include_usage": True}}


def chunks(response: httpx.Response) -> list[Any]:
    """Read the events of a stream; `[DONE]` as it is."""
    events = [event.removeprefix("data: ") for event in response.text.split("\n\n") if event]
    return [event if event == "[DONE]" else json.loads(event) for event in events]


def choices(response: httpx.Response) -> list[tuple[Any, Any]]:
    parts = [chunk["choices"][0] for chunk in chunks(response)[:-1] if chunk["choices"]]
    return [(part["delta"], part["finish_reason"]) for part in parts]


def test_a_stream_splits_text_and_arguments(ask: Ask) -> None:
    call = {"id": "1", "name": "f", "arguments": '{"a": 1}'}
    with StrictEndpoint([{"content": "Hello", "tool_calls": [call]}]) as endpoint:
        response = ask(endpoint, **STREAM)

    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    head = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"'}}
    assert choices(response) == [
        ({"role": "assistant", "content": ""}, None),
        ({"content": "He"}, None),
        ({"content": "ll"}, None),
        ({"content": "o"}, None),
        ({"tool_calls": [{"index": 0} | head]}, None),
        ({"tool_calls": [{"index": 0, "function": {"arguments": 'a"'}}]}, None),
        ({"tool_calls": [{"index": 0, "function": {"arguments": ": "}}]}, None),
        ({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}, None),
        ({}, "tool_calls"),
    ]
    assert chunks(response)[-1] == "[DONE]"
    assert all("usage" not in chunk for chunk in chunks(response)[:-1])


def test_usage_comes_last_in_a_stream_that_asks_for_it(ask: Ask) -> None:
    with StrictEndpoint(["4", Deltas([{"content": "4"}], usage=None)]) as endpoint:
        *before, last = chunks(ask(endpoint, **USAGE))[:-1]
        scripted = chunks(ask(endpoint, **USAGE))[:-1]

    assert last["choices"] == []
    assert last["usage"] == {"prompt_tokens": 10, "completion_tokens": 8, "total_tokens": 18}
    assert [chunk["usage"] for chunk in before] == [None] * 3
    assert all("usage" not in chunk for chunk in scripted)


def parts(*deltas: Json) -> list[Json]:
    return [{"tool_calls": [delta]} for delta in deltas]


def full(call_id: str, name: str, arguments: str, **index: int) -> Json:
    function = {"name": name, "arguments": arguments}
    return {**index, "id": call_id, "type": "function", "function": function}


@pytest.mark.parametrize(
    ("deltas", "streamed", "merged"),
    [
        pytest.param(
            parts(
                {"id": "a", "name": "w", "arguments": '{"c":'},
                {"arguments": "1}"},
                {"id": "b", "name": "t", "arguments": "{}"},
            ),
            [
                full("a", "w", '{"c":'),
                {"function": {"arguments": "1}"}},
                full("b", "t", "{}"),
            ],
            [full("a", "w", '{"c":1}'), full("b", "t", "{}")],
            id="no index",
        ),
        pytest.param(
            parts(
                {"index": 0, "id": "a", "name": "r", "arguments": "{}"},
                {"index": 0, "id": "b", "name": "r", "arguments": "{}"},
            ),
            [full("a", "r", "{}", index=0), full("b", "r", "{}", index=0)],
            [full("a", "r", "{}"), full("b", "r", "{}")],
            id="index 0 twice",
        ),
        pytest.param(
            parts(
                {"index": 0, "id": "a", "name": "r", "arguments": "{"},
                {"index": 0, "id": "a", "name": "r", "arguments": "}"},
            ),
            [full("a", "r", "{", index=0), full("a", "r", "}", index=0)],
            [full("a", "r", "{}")],
            id="repeated name",
        ),
    ],
)
def test_odd_call_deltas_are_streamed_as_written_and_merged_as_meant(
    ask: Ask, deltas: list[Json], streamed: list[Json], merged: list[Json]
) -> None:
    with StrictEndpoint([Deltas(deltas), Deltas(deltas)]) as endpoint:
        sent = [delta["tool_calls"][0] for delta, _ in choices(ask(endpoint, **STREAM))[:-1]]
        message = ask(endpoint).json()["choices"][0]["message"]

    assert sent == streamed
    assert message["tool_calls"] == merged


def test_whole_chunks_pass_through(ask: Ask) -> None:
    error = {"error": {"message": "overloaded", "code": 503}}
    deltas: list[Json] = [
        {"choices": []},
        {"content": "Hi"},
        {"finish_reason": "stop"},
        {"choices": [], "usage": {"prompt_tokens": 3}},
        error,
    ]
    with StrictEndpoint([Deltas(deltas)]) as endpoint:
        first, hi, stop, usage, failed, done = chunks(ask(endpoint, **STREAM))

    assert (first["choices"], usage["choices"], usage["usage"]) == ([], [], {"prompt_tokens": 3})
    assert hi["choices"][0]["delta"] == {"content": "Hi"}
    assert stop["choices"][0] == {"index": 0, "delta": {}, "finish_reason": "stop"}
    assert (failed, done) == (error, "[DONE]")


@pytest.mark.parametrize(
    ("reply", "finish_reasons", "done"),
    [
        pytest.param(Deltas([{"content": "a"}]), [None, "stop"], True, id="whole"),
        pytest.param(
            Deltas([{"content": "a"}], finish_reason="length"), [None, "length"], True, id="cut"
        ),
        pytest.param(
            Deltas([{"content": "a"}], finish_reason=None), [None], True, id="no finish_reason"
        ),
        pytest.param(
            Deltas([{"content": "a"}], finish_reason=None, done=False), [None], False, id="neither"
        ),
    ],
)
def test_a_stream_may_end_without_saying_so(
    ask: Ask, reply: Deltas, finish_reasons: list[str | None], done: bool
) -> None:
    with StrictEndpoint([reply]) as endpoint:
        events = chunks(ask(endpoint, **STREAM))

    assert (events[-1] == "[DONE]") is done
    parts = [event["choices"][0] for event in events if event != "[DONE]"]
    assert [part["finish_reason"] for part in parts] == finish_reasons


def test_deltas_are_merged_where_no_stream_was_asked_for(ask: Ask) -> None:
    deltas = [{"reasoning_content": "h"}, {"reasoning_content": "m"}, {"content": "Hel"}]
    with StrictEndpoint([Deltas([*deltas, {"content": "lo"}])]) as endpoint:
        choice = ask(endpoint).json()["choices"][0]

    assert choice["finish_reason"] == "stop"
    assert choice["message"] == {
        "role": "assistant",
        "content": "Hello",
        "reasoning_content": "hm",
    }


def test_a_list_of_blocks_is_content_too(ask: Ask) -> None:
    blocks = [{"type": "text", "text": "Par"}, {"type": "text", "text": "is"}]
    with StrictEndpoint([{"content": blocks}, {"content": blocks}]) as endpoint:
        assert ask(endpoint).json()["choices"][0]["message"]["content"] == blocks
        assert ({"content": blocks}, None) in choices(ask(endpoint, **STREAM))


def test_bytes_are_sent_as_they_are_one_at_a_time(ask: Ask) -> None:
    stream = sse_bytes(Deltas([{"content": "杭州 🌍"}]))
    with StrictEndpoint([RawBytes(stream, chunk_size=1)]) as endpoint:
        response = ask(endpoint, **STREAM)

    assert response.content == stream
    assert choices(response) == [({"content": "杭州 🌍"}, None), ({}, "stop")]
