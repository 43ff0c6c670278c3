"""What each profile refuses that the bare protocol allows, and in which words."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from graph_agent.testing.profiles import PROFILES, profile_named
from graph_agent.testing.refusal import ErrorShape, Refusal, error_body
from graph_agent.testing.rules import find_refusal

SYSTEM = {"role": "system", "content": "s"}
USER = {"role": "user", "content": "say it as json"}
ASSISTANT = {"role": "assistant", "content": "a"}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "R"}
TOOLS = {"tools": [{"type": "function", "function": {"name": "f"}}]}
FORCED = TOOLS | {"tool_choice": {"type": "function", "function": {"name": "f"}}}
JSON_OBJECT = {"response_format": {"type": "json_object"}}
JSON_SCHEMA = {
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}}
}


def body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages or [USER]), **fields}


def calling(**fields: Any) -> dict[str, Any]:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return {"role": "assistant", "tool_calls": [call]} | fields


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_every_profile_accepts_a_plain_question(profile: Any) -> None:
    assert find_refusal(body(SYSTEM, USER), profile, {}) is None


CAREFUL = [SYSTEM, USER, calling(content="-", reasoning_content="R"), RESULT, ASSISTANT, USER]


@pytest.mark.parametrize("name", ["qwen", "ollama", "bedrock", "content_required", "llamacpp"])
def test_servers_without_strict_fields_accept_a_careful_history(name: str) -> None:
    assert find_refusal(body(*CAREFUL), profile_named(name), {}) is None


MALFORMED = [
    ("openai", body(USER, top_k=1), 400, "Unknown parameter: 'top_k'."),
    (
        "openai",
        body(USER, calling(reasoning_content="R"), RESULT),
        400,
        "Unknown parameter: 'messages[1].reasoning_content'.",
    ),
    ("openai", body(SYSTEM, **JSON_OBJECT), 400, "'messages' must contain the word 'json'"),
    ("openai", body(calling()), 400, "did not have response messages: 1"),
    (
        "qwen",
        body(SYSTEM, USER, SYSTEM),
        500,
        "Jinja Exception: System message must be at the beginning.",
    ),
    ("qwen", body(SYSTEM, SYSTEM, USER), 500, "System message must be at the beginning."),
    ("qwen", body(SYSTEM, ASSISTANT, USER), 500, "expected a user message"),
    ("qwen", body({"role": "developer", "content": "s"}, USER), 400, "`developer`"),
    ("mistral", body(USER, USER), 400, "must alternate"),
    ("mistral", body(USER, ASSISTANT), 400, "Expected last role User or Tool"),
    (
        "mistral",
        body(USER, ASSISTANT | {"content": ""}, USER),
        400,
        "Assistant message must have either content or tool_calls, but not none.",
    ),
    (
        "ollama",
        body(USER, calling(content=None), RESULT),
        400,
        "invalid message content type: <nil>",
    ),
    ("bedrock", body(USER, calling(content=""), RESULT), 400, "messages.1.content.0 is blank"),
    ("content_required", body(USER, calling(), RESULT), 400, "messages[1]: missing field"),
    ("deepseek_thinking", body(USER, calling(), RESULT), 400, "must be passed back"),
    ("groq", body(USER, top_k=1), 400, "Unknown parameter"),
]


@pytest.mark.parametrize(("name", "request_body", "status", "message"), MALFORMED)
def test_a_profile_rejects_what_its_server_calls_malformed(
    name: str, request_body: dict[str, Any], status: int, message: str
) -> None:
    refusal = find_refusal(request_body, profile_named(name), {})

    assert refusal is not None
    assert (refusal.status, refusal.malformed) == (status, True)
    assert message in refusal.message


UNABLE = [
    ("deepseek_thinking", body(**FORCED), 400, "Thinking mode does not support this tool_choice"),
    ("deepseek_thinking", body(**JSON_SCHEMA), 400, "This response_format type is unavailable now"),
    ("groq", body(**TOOLS, **JSON_OBJECT), 400, "json mode cannot be combined with tool/function"),
    ("groq", body(**JSON_SCHEMA), 400, "does not support response format `json_schema`"),
    ("vllm", body(**TOOLS), 400, '"auto" tool choice requires --enable-auto-tool-choice'),
    ("no_tools", body(**TOOLS), 400, "does not support tools"),
    ("no_tools_404", body(**TOOLS), 404, "No endpoints found that support tool use"),
    ("no_tools_501", body(**TOOLS), 501, "does not support tools"),
]


@pytest.mark.parametrize(("name", "request_body", "status", "message"), UNABLE)
def test_a_profile_refuses_what_its_server_cannot_do(
    name: str, request_body: dict[str, Any], status: int, message: str
) -> None:
    refusal = find_refusal(request_body, profile_named(name), {})

    assert refusal is not None
    assert (refusal.status, refusal.malformed) == (status, False)
    assert message in refusal.message


ABLE = [
    ("deepseek_thinking", body(**TOOLS, tool_choice="auto")),
    ("deepseek_thinking", body(**JSON_OBJECT)),
    ("groq", body(**TOOLS)),
    ("groq", body(**JSON_OBJECT)),
    ("vllm", body(**FORCED)),
    ("qwen", body(**TOOLS, **JSON_SCHEMA, top_k=1)),
    ("lenient", {"messages": "nonsense"}),
    ("mistral", body(USER, calling(), RESULT)),
]


@pytest.mark.parametrize(("name", "request_body"), ABLE)
def test_a_profile_refuses_no_more_than_that(name: str, request_body: dict[str, Any]) -> None:
    assert find_refusal(request_body, profile_named(name), {}) is None


@pytest.mark.parametrize(
    ("call_id", "reason"),
    [
        pytest.param("a1B2c3D4e", None, id="nine letters and digits"),
        pytest.param(
            "call_1",
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            id="any other",
        ),
    ],
)
def test_mistral_ids_are_a_switch_of_their_own(call_id: str, reason: str | None) -> None:
    assistant = calling()
    assistant["tool_calls"][0]["id"] = call_id
    messages = [USER, assistant, RESULT | {"tool_call_id": call_id}]

    refusal = find_refusal(body(*messages), replace(PROFILES["mistral"], mistral_ids=True), {})

    assert (refusal and refusal.message) == reason


@pytest.mark.parametrize(
    ("reasoning", "produced", "accepted"),
    [
        pytest.param("R1", {"1": {"R1"}}, True, id="the same"),
        pytest.param("R2", {"1": {"R1", "R2"}}, True, id="an id produced twice"),
        pytest.param("R2", {"1": {"R1"}}, False, id="another"),
        pytest.param("", {"1": {"R1"}}, False, id="lost"),
        pytest.param(None, {"1": {None}}, True, id="produced without"),
        pytest.param("any", {}, True, id="from another process"),
        pytest.param(None, {}, False, id="absent"),
    ],
)
def test_reasoning_must_come_back_as_it_was_produced(
    reasoning: str | None, produced: dict[str, set[str | None]], accepted: bool
) -> None:
    request_body = body(USER, calling(reasoning_content=reasoning), RESULT)

    refusal = find_refusal(request_body, PROFILES["deepseek_thinking"], produced)

    assert (refusal is None) is accepted


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (
            "openai",
            {
                "error": {
                    "message": "no",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "c",
                }
            },
        ),
        ("llamacpp", {"error": {"code": 400, "message": "no", "type": "invalid_request_error"}}),
        (
            "vllm",
            {"error": {"message": "no", "type": "BadRequestError", "param": None, "code": 400}},
        ),
        (
            "mistral",
            {
                "object": "error",
                "message": "no",
                "type": "invalid_request_error",
                "param": None,
                "code": "c",
            },
        ),
        ("bedrock", {"message": "no", "code": "c"}),
    ],
)
def test_error_bodies_look_like_each_servers(shape: ErrorShape, expected: dict[str, Any]) -> None:
    assert orjson.loads(error_body(Refusal(message="no", code="c"), shape)) == expected


def test_an_unknown_profile_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no profile 'gpt'; known: \['bedrock'"):
        profile_named("gpt")
