"""Every way in which a scripted server misbehaves, over real HTTP."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import httpx
import pytest

from graph_agent.testing.endpoint import StrictEndpoint
from graph_agent.testing.replies import (
    Delay,
    Deltas,
    Drop,
    Gate,
    Held,
    HttpError,
    Json,
    RawBytes,
    Silence,
)
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


@contextmanager
def background(target: Callable[[], object]) -> Iterator[Thread]:
    thread = Thread(target=target)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(10)


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


def test_an_error_has_the_servers_shape_headers_or_its_own_body(ask: Ask) -> None:
    page = b"<h1>Bad gateway</h1>"
    with StrictEndpoint(
        [
            HttpError(status=429, message="slow down", code="rate", headers=[("Retry-After", "2")]),
            HttpError(status=502, body=page),
        ]
    ) as endpoint:
        limited, broken = ask(endpoint), ask(endpoint)

    assert (limited.status_code, limited.headers["retry-after"]) == (429, "2")
    assert limited.json()["error"] == {
        "message": "slow down",
        "type": "invalid_request_error",
        "param": None,
        "code": "rate",
    }
    assert (broken.status_code, broken.content) == (502, page)


@pytest.mark.parametrize("fields", [STREAM, {}], ids=["stream", "whole"])
def test_a_dropped_connection_is_reset_before_any_byte(ask: Ask, fields: Json) -> None:
    with StrictEndpoint([Drop(), "4"]) as endpoint:
        with pytest.raises(httpx.ReadError, match="reset by peer"):
            ask(endpoint, **fields)
        assert ask(endpoint).status_code == 200


@pytest.mark.parametrize(
    ("fields", "received"),
    [
        pytest.param(STREAM, b'"content":"Hello wor"', id="stream"),
        pytest.param({}, b"{", id="whole"),
    ],
)
def test_a_connection_dropped_midway_has_sent_what_came_before(
    client: httpx.Client, question: dict[str, Any], fields: Json, received: bytes
) -> None:
    data = bytearray()

    def read(response: httpx.Response) -> None:
        for part in response.iter_raw():
            data.extend(part)

    with (
        StrictEndpoint([Drop(after=[{"content": "Hello wor"}])]) as endpoint,
        client.stream(
            "POST", f"{endpoint.base_url}/chat/completions", json=question | fields
        ) as response,
        pytest.raises(httpx.ReadError),
    ):
        read(response)

    assert received in data
    assert not data.endswith((b"}", b"[DONE]\n\n"))


@pytest.mark.parametrize("reply", [Silence(), Silence(after=None)], ids=["headers", "nothing"])
def test_silence_lasts_until_the_client_leaves(
    client: httpx.Client, question: dict[str, Any], reply: Silence
) -> None:
    with StrictEndpoint([reply]) as endpoint:
        with pytest.raises(httpx.ReadTimeout):
            client.post(
                f"{endpoint.base_url}/chat/completions", json=question | STREAM, timeout=0.2
            )
        assert endpoint.requests[0].left.wait(5)


def test_silence_follows_its_deltas_and_ends_with_the_endpoint(
    client: httpx.Client, question: dict[str, Any]
) -> None:
    with StrictEndpoint([Silence(after=[{"content": "a"}])]) as endpoint:
        url = f"{endpoint.base_url}/chat/completions"
        with client.stream("POST", url, json=question | STREAM) as response:
            lines = response.iter_lines()
            assert '"content":"a"' in next(lines)
            endpoint.__exit__(None, None, None)
            with pytest.raises(httpx.HTTPError):
                list(lines)


def test_a_delay_and_an_interval_take_their_time(ask: Ask) -> None:
    with StrictEndpoint(
        [Delay(0.1, "4"), Deltas([{"content": "a"}, {"content": "b"}], interval=0.05)]
    ) as endpoint:
        late, slow = ask(endpoint), ask(endpoint, **STREAM)

    assert late.elapsed.total_seconds() >= 0.1
    assert slow.elapsed.total_seconds() >= 0.1
    assert [delta for delta, _ in choices(slow)] == [{"content": "a"}, {"content": "b"}, {}]


def test_a_gate_holds_a_reply_while_the_test_acts(ask: Ask) -> None:
    gate, answers = Gate(), []
    with (
        StrictEndpoint([Held(gate, "held"), "second"]) as endpoint,
        background(lambda: answers.append(ask(endpoint).json())),
    ):
        gate.wait_reached()
        other = httpx.post(f"{endpoint.base_url}/chat/completions", json=endpoint.requests[0].body)
        assert other.json()["choices"][0]["message"]["content"] == "second"
        assert answers == []
        gate.open()

    assert [answer["choices"][0]["message"]["content"] for answer in answers] == ["held"]


@pytest.mark.anyio
async def test_a_gate_holds_a_stream_between_two_deltas(question: dict[str, Any]) -> None:
    gate = Gate()
    reply = Deltas([{"content": "a"}, gate, {"content": "b"}])
    with StrictEndpoint([reply]) as endpoint:
        async with (
            httpx.AsyncClient() as client,
            client.stream(
                "POST", f"{endpoint.base_url}/chat/completions", json=question | STREAM
            ) as response,
        ):
            lines = response.aiter_lines()
            first = await anext(lines)
            await gate.reached()
            gate.open()
            rest = [line async for line in lines]

    assert '"content":"a"' in first
    assert '"content":"b"' in rest[1]


def test_a_function_in_a_list_may_block_while_others_are_served(ask: Ask) -> None:
    running, go = Event(), Event()

    def hold(body: Json) -> str:
        running.set()
        go.wait(10)
        return "held"

    answers: list[httpx.Response] = []
    with (
        StrictEndpoint([hold, "second"]) as endpoint,
        background(lambda: answers.append(ask(endpoint))),
    ):
        assert running.wait(5)
        second = httpx.post(f"{endpoint.base_url}/chat/completions", json=endpoint.requests[0].body)
        go.set()

    assert second.json()["choices"][0]["message"]["content"] == "second"
    assert answers[0].json()["choices"][0]["message"]["content"] == "held"


def test_a_function_that_never_returns_does_not_keep_the_endpoint(
    client: httpx.Client, question: dict[str, Any]
) -> None:
    never = Event()
    with StrictEndpoint([lambda body: str(never.wait(60))]) as endpoint:
        with pytest.raises(httpx.ReadTimeout):
            client.post(f"{endpoint.base_url}/chat/completions", json=question, timeout=0.1)
        assert endpoint.requests[0].left.wait(5)

    assert not never.is_set()
    never.set()


def test_a_client_that_leaves_a_slow_stream_is_noticed(
    client: httpx.Client, question: dict[str, Any]
) -> None:
    reply = Deltas([{"content": "a"}] * 1000, interval=0.02)
    with StrictEndpoint([reply]) as endpoint:
        url = f"{endpoint.base_url}/chat/completions"
        with client.stream("POST", url, json=question | STREAM) as response:
            assert '"content":"a"' in next(response.iter_lines())
        assert endpoint.requests[0].left.wait(5)


def test_a_stream_that_cannot_be_sent_is_reset_and_told(ask: Ask) -> None:
    endpoint = StrictEndpoint([Deltas([{"content": "a"}, {"content": {1, 2}}])])

    with pytest.raises(AssertionError, match="given a reply that failed with TypeError"), endpoint:
        with pytest.raises(httpx.ReadError):
            ask(endpoint, **STREAM)


def test_gates_hold_replies_that_are_not_streamed_too(ask: Ask) -> None:
    gate = Gate()
    answers: list[httpx.Response] = []
    with (
        StrictEndpoint([Deltas([{"content": "a"}, gate, {"content": "b"}])]) as endpoint,
        background(lambda: answers.append(ask(endpoint))),
    ):
        gate.wait_reached()
        assert answers == []
        gate.open()
        gate.open()

    assert answers[0].json()["choices"][0]["message"]["content"] == "ab"
