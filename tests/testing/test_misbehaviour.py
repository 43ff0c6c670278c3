"""Servers that fail, fall silent, come late or are held back, over real HTTP."""

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
    Silence,
)

Ask = Callable[..., httpx.Response]
STREAM = {"stream": True}


@contextmanager
def background(target: Callable[[], object]) -> Iterator[Thread]:
    thread = Thread(target=target)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(10)


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
    assert slow.text.count("data: ") == 4


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

    with (
        pytest.raises(AssertionError, match="given a reply that failed with TypeError"),
        endpoint,
        pytest.raises(httpx.ReadError),
    ):
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
