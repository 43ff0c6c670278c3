"""The endpoint's life: what it serves, records, refuses, and complains about at its end."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest
from blockbuster import blockbuster_ctx

from graph_agent.testing.endpoint import StrictEndpoint
from graph_agent.testing.profiles import PROFILES

Ask = Callable[..., httpx.Response]
TOOL = {"type": "function", "function": {"name": "add"}}
CALL = {"id": "1", "name": "add", "arguments": {"a": 1, "b": 2}}
CALLS = [CALL, CALL | {"id": "2"}]


def content(response: httpx.Response) -> Any:
    return response.json()["choices"][0]["message"]["content"]


def test_replies_are_served_in_order_and_requests_recorded(ask: Ask) -> None:
    with StrictEndpoint(["one", "two"]) as endpoint:
        endpoint.reply("three")
        answers = [content(ask(endpoint, user=str(number))) for number in range(3)]

    assert answers == ["one", "two", "three"]
    assert [request.body["user"] for request in endpoint.requests] == ["0", "1", "2"]
    assert [request.streamed for request in endpoint.requests] == [False] * 3
    assert json.loads(endpoint.requests[0].raw) == endpoint.requests[0].body
    assert endpoint.requests[0].headers["content-type"] == "application/json"
    assert endpoint.rejected == []


def test_a_text_is_served_as_openai_does(ask: Ask) -> None:
    with StrictEndpoint(["4"]) as endpoint:
        response = ask(endpoint)

    assert response.json() == {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "4"},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 8, "total_tokens": 18},
    }


def test_a_message_with_calls_passes_through_the_sdk_streamed_and_not(
    question: Any,
) -> None:
    message = {"content": "Adding.", "reasoning_content": "two numbers", "tool_calls": CALLS}
    asked: Any = question | {"tools": [TOOL]}
    with (
        StrictEndpoint([message, message]) as endpoint,
        openai.OpenAI(base_url=endpoint.base_url, api_key="k", max_retries=0) as sdk,
    ):
        whole = sdk.chat.completions.create(**asked)
        with sdk.chat.completions.stream(**asked) as stream:
            streamed = stream.get_final_completion()

    for completion in (whole, streamed):
        choice = completion.choices[0]
        assert choice.finish_reason == "tool_calls"
        assert choice.message.content == "Adding."
        assert choice.message.model_extra == {"reasoning_content": "two numbers"}
        assert [
            (call.id, call.function.name, json.loads(call.function.arguments))
            for call in choice.message.tool_calls or []
            if call.type == "function"
        ] == [("1", "add", {"a": 1, "b": 2}), ("2", "add", {"a": 1, "b": 2})]
    assert [request.streamed for request in endpoint.requests] == [False, True]


def test_calls_without_an_id_are_numbered_over_the_whole_script(ask: Ask) -> None:
    calls = {"tool_calls": [{"name": "f"}, {"name": "g", "arguments": '{"a'}]}
    with StrictEndpoint([calls, calls]) as endpoint:
        made = [ask(endpoint).json()["choices"][0]["message"]["tool_calls"] for _ in range(2)]

    assert [[call["id"] for call in calls] for calls in made] == [
        ["call_1_0", "call_1_1"],
        ["call_2_0", "call_2_1"],
    ]
    assert [call["function"]["arguments"] for call in made[0]] == ["{}", '{"a']


@pytest.mark.parametrize(
    "call",
    [
        pytest.param({"id": None, "name": "f", "arguments": "{}"}, id="id null"),
        pytest.param({"type": "function", "function": {"name": "f", "arguments": {}}}, id="odd"),
    ],
)
def test_calls_may_be_scripted_wrong_on_purpose(ask: Ask, call: dict[str, Any]) -> None:
    with StrictEndpoint([{"tool_calls": [call]}]) as endpoint:
        made = ask(endpoint).json()["choices"][0]["message"]["tool_calls"][0]

    assert made.get("id") is None
    assert made["function"]["arguments"] == (call.get("arguments") or {})


@pytest.mark.parametrize(
    ("scripted", "usage"),
    [
        pytest.param(
            {}, {"prompt_tokens": 10, "completion_tokens": 8, "total_tokens": 18}, id="own"
        ),
        pytest.param(
            {"usage": {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 5}}},
            {
                "prompt_tokens": 7,
                "completion_tokens": 8,
                "total_tokens": 15,
                "prompt_tokens_details": {"cached_tokens": 5},
            },
            id="overridden",
        ),
        pytest.param({"usage": None}, None, id="none"),
    ],
)
def test_usage_is_estimated_or_scripted(ask: Ask, scripted: dict[str, Any], usage: Any) -> None:
    with StrictEndpoint([{"content": "4"} | scripted]) as endpoint:
        assert ask(endpoint).json().get("usage") == usage


def test_one_function_answers_every_request(ask: Ask) -> None:
    async def echo(body: dict[str, Any]) -> str:
        return f"you are {body['user']}"

    with StrictEndpoint(lambda body: body["user"]) as plain, StrictEndpoint(echo) as coroutine:
        answers = [content(ask(endpoint, user="u")) for endpoint in (plain, plain, coroutine)]

    assert answers == ["u", "u", "you are u"]


def test_models_and_health_are_served(client: httpx.Client) -> None:
    with StrictEndpoint(models=["a", "b"]) as endpoint:
        models = client.get(f"{endpoint.base_url}/models").json()
        health = client.get(f"{endpoint.base_url.removesuffix('/v1')}/health").json()
        missing = client.post(f"{endpoint.base_url}/responses")

    assert [model["id"] for model in models["data"]] == ["a", "b"]
    assert health == {"status": "ok"}
    assert missing.status_code == 404
    assert missing.json()["error"]["message"] == "Invalid URL (POST /v1/responses)"


def test_a_wrong_key_is_refused(client: httpx.Client, question: dict[str, Any]) -> None:
    with StrictEndpoint(["4"], api_key="right") as endpoint:
        url = f"{endpoint.base_url}/chat/completions"
        refused = client.post(url, json=question, headers={"Authorization": "Bearer wrong"})
        accepted = client.post(url, json=question, headers={"Authorization": "Bearer right"})

    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
    assert content(accepted) == "4"
    assert [request.rejected for request in endpoint.rejected] == ["Incorrect API key provided."]


def test_a_refused_request_uses_no_reply_up(ask: Ask) -> None:
    with StrictEndpoint(["4"], profile="no_tools") as endpoint:
        refused = ask(endpoint, tools=[TOOL])
        accepted = ask(endpoint)

    assert (refused.status_code, content(accepted)) == (400, "4")
    assert [request.rejected for request in endpoint.requests] == [
        "registry.ollama.ai/library/fake does not support tools",
        None,
    ]


OVERFLOWS: dict[str, dict[str, Any]] = {
    "openai": {"code": "context_length_exceeded", "type": "invalid_request_error"},
    "vllm": {"code": 400, "type": "BadRequestError"},
    "llamacpp": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 20},
}


@pytest.mark.parametrize("profile", OVERFLOWS)
def test_a_prompt_beyond_the_limit_is_refused_in_the_servers_words(ask: Ask, profile: str) -> None:
    long = [{"role": "user", "content": "x" * 80}]
    with StrictEndpoint(["4"], profile=profile, context_limit=20) as endpoint:
        refused = ask(endpoint, messages=long)
        accepted = ask(endpoint)

    error = refused.json()["error"]
    assert refused.status_code == 400
    assert OVERFLOWS[profile].items() <= error.items()
    assert error["message"] == PROFILES[profile].overflow.format(tokens=29, limit=20)
    assert content(accepted) == "4"
    assert [request.tokens for request in endpoint.requests] == [29, 10]


def test_tools_count_and_pictures_have_a_fixed_price(ask: Ask) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 40_000}}
    with StrictEndpoint(lambda body: "ok") as endpoint:
        ask(endpoint)
        ask(endpoint, tools=[TOOL])
        ask(endpoint, messages=[{"role": "user", "content": [picture]}])

    plain, with_tools, with_picture = (request.tokens for request in endpoint.requests)
    assert plain < with_tools < with_picture < 200


def test_a_counter_of_ones_own_decides(ask: Ask) -> None:
    with StrictEndpoint(
        ["4"], context_limit=1, count=lambda body: len(body["messages"])
    ) as endpoint:
        assert ask(endpoint).json()["usage"]["prompt_tokens"] == 1


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b'{"model": "\xff"}', "not valid UTF-8", id="bytes"),
        pytest.param(rb'{"model": "\ud83d"}', "lone surrogate", id="surrogate"),
        pytest.param(b'{"model"', "could not parse", id="cut"),
        pytest.param(b'{"model": NaN}', "could not parse", id="no JSON"),
        pytest.param(b"[]", "must be a JSON object", id="a list"),
    ],
)
def test_bytes_that_are_no_request_are_malformed(
    client: httpx.Client, raw: bytes, reason: str
) -> None:
    with StrictEndpoint(allow_malformed=True) as endpoint:
        response = client.post(f"{endpoint.base_url}/chat/completions", content=raw)

    assert response.status_code == 400
    assert reason in response.json()["error"]["message"]
    assert [(request.body, request.malformed) for request in endpoint.rejected] == [({}, True)]


def test_a_malformed_request_fails_the_test_at_the_end(ask: Ask) -> None:
    endpoint = StrictEndpoint(["4"])

    with pytest.raises(AssertionError, match="malformed request: Invalid 'messages'"), endpoint:
        ask(endpoint, messages=[])


def test_running_out_of_replies_is_an_error_now_and_at_the_end(ask: Ask) -> None:
    endpoint = StrictEndpoint(["4"])
    statuses: list[int] = []

    with pytest.raises(AssertionError, match="asked 3 times, scripted 1 replies"), endpoint:
        statuses.extend(ask(endpoint).status_code for _ in range(3))
    with pytest.raises(AssertionError, match="asked 3 times, scripted 1 replies"):
        endpoint.check()

    assert statuses == [200, 500, 500]


def test_leftover_replies_are_an_error_where_that_is_asked_for(ask: Ask) -> None:
    endpoint = StrictEndpoint(["4", "5"], allow_unserved=False)

    with pytest.raises(AssertionError, match="1 of 2 replies were not asked for"), endpoint:
        ask(endpoint)


def test_an_exception_on_its_way_is_not_masked(ask: Ask) -> None:
    endpoint = StrictEndpoint()

    with pytest.raises(KeyError, match="choices"), endpoint:
        content(ask(endpoint))


def test_a_function_that_fails_is_told(ask: Ask) -> None:
    endpoint = StrictEndpoint([lambda body: body["absent"]])

    with pytest.raises(AssertionError, match="a reply that failed with KeyError"), endpoint:
        response = ask(endpoint)

    assert response.status_code == 500
    assert response.text == "The test's reply failed with KeyError('absent')."


def test_a_misspelt_message_fails_where_it_is_written() -> None:
    with pytest.raises(ValueError, match=r"cannot have \['contents'\]"):
        StrictEndpoint([{"contents": "4"}])


def test_only_the_newest_requests_are_kept_if_wished(ask: Ask) -> None:
    with StrictEndpoint(lambda body: "ok", keep=2) as endpoint:
        for number in range(5):
            ask(endpoint, user=str(number))

    assert [request.body["user"] for request in endpoint.requests] == ["3", "4"]
    assert endpoint.asked == 5


def test_reasoning_is_remembered_between_requests(ask: Ask) -> None:
    asked = {"role": "user", "content": "q"}
    result = {"role": "tool", "tool_call_id": "1", "content": "3"}
    reply = {"reasoning_content": "R1", "tool_calls": [CALL]}
    with StrictEndpoint(
        [reply, "3"], profile="deepseek_thinking", allow_malformed=True
    ) as endpoint:
        message = ask(endpoint, tools=[TOOL]).json()["choices"][0]["message"]
        changed = ask(endpoint, messages=[asked, message | {"reasoning_content": "R2"}, result])
        returned = ask(endpoint, messages=[asked, message, result])

    assert (changed.status_code, returned.status_code) == (400, 200)


@pytest.mark.anyio
async def test_an_async_context_never_blocks_the_loop(question: dict[str, Any]) -> None:
    async with httpx.AsyncClient() as client:
        with blockbuster_ctx():
            async with StrictEndpoint(lambda body: "ok") as endpoint:
                url = f"{endpoint.base_url}/chat/completions"
                posts = [client.post(url, json=question) for _ in range(20)]
                answers = [content(response) for response in await asyncio.gather(*posts)]

    assert answers == ["ok"] * 20


@pytest.mark.anyio
async def test_an_async_context_complains_as_a_sync_one_does(question: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="asked 1 times, scripted 0 replies"):
        async with StrictEndpoint() as endpoint, httpx.AsyncClient() as client:
            await client.post(f"{endpoint.base_url}/chat/completions", json=question)
