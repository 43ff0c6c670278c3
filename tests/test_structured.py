import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call
from pydantic import BaseModel

from graph_agent.errors import (
    ConfigError,
    ContextOverflowError,
    ModelRefusedError,
    ModelUnavailableError,
    StructuredOutputError,
)
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.models.retry import RetryPolicy
from graph_agent.models.spec import Abilities
from graph_agent.prompts import STRUCTURED_JSON, STRUCTURED_REFORMAT
from graph_agent.structured import StructuredCallResult, structured_llm_call
from graph_agent.testing import HttpError, StrictEndpoint
from graph_agent.testing.replies import Json, Reply

pytestmark = pytest.mark.anyio


class Number(BaseModel):
    """One whole number."""

    n: int


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ALL = Abilities(tool_call=True, json_mode=True, json_schema=True)
TOOLS_AND_JSON = Abilities(tool_call=True, json_mode=True)
TOOLS = Abilities(tool_call=True, json_mode=False)
SCHEMAS = Abilities(tool_call=False, json_mode=False, json_schema=True)
JSON = Abilities(tool_call=False, json_mode=True)
PLAIN = Abilities(tool_call=False, json_mode=False)
ASK: list[BaseMessage] = [SystemMessage("Be exact."), HumanMessage("Which number?")]


@dataclass
class Setting:
    """A model of given abilities, and the endpoint that it asks."""

    model: LanguageModel
    endpoint: StrictEndpoint
    waits: list[float]

    def forms(self) -> list[str]:
        """How the data were asked for, request by request."""
        return [form_of(request.body) for request in self.endpoint.requests]

    def last_message(self) -> str:
        """What the model read last."""
        content: str = self.endpoint.requests[-1].body["messages"][-1]["content"]
        return content


def form_of(body: Json) -> str:
    if "tools" in body:
        return str(body["tool_choice"]["function"]["name"])
    return str(body.get("response_format", {"type": "text"})["type"])


SetUp = Callable[..., Setting]


@pytest.fixture
async def set_up() -> Any:
    settings: list[tuple[Any, CompatibleChatModel]] = []

    def one(replies: Any, abilities: Abilities = TOOLS_AND_JSON, **endpoint: Any) -> Setting:
        server = StrictEndpoint(replies, **endpoint)
        server.__enter__()
        chat = CompatibleChatModel(model="fake", base_url=server.base_url, api_key="k")
        settings.append((server, chat))
        waits: list[float] = []

        async def sleep(seconds: float) -> None:
            waits.append(seconds)

        retry = RetryPolicy(max_retries=2, sleep=sleep)
        return Setting(LanguageModel.of(chat, abilities=abilities, retry=retry), server, waits)

    yield one
    for server, chat in settings:
        await chat.aclose()
        server.__exit__(None, None, None)


def called(arguments: object, name: str = "result") -> Reply:
    return {"tool_calls": [{"id": "c1", "name": name, "arguments": arguments}]}


@pytest.mark.parametrize("schema", [Number, SCHEMA], ids=["pydantic", "JSON schema"])
@pytest.mark.parametrize(
    ("abilities", "reply", "level", "form"),
    [
        pytest.param(ALL, called({"n": 3}), "tool_call", "result", id="a forced call"),
        pytest.param(SCHEMAS, '{"n": 3}', "json_mode", "json_schema", id="a schema"),
        pytest.param(JSON, '{"n": 3}', "json_mode", "json_object", id="JSON"),
        pytest.param(PLAIN, 'It is {"n": 3}, as asked.', "plain", "text", id="plain text"),
    ],
)
async def test_abilities_decide_how_data_are_asked_for(
    set_up: SetUp, schema: Any, abilities: Abilities, reply: Reply, level: str, form: str
) -> None:
    setting = set_up([reply], abilities)

    result: StructuredCallResult[Any] = await structured_llm_call(setting.model, ASK, schema)

    assert result.value == (Number(n=3) if schema is Number else {"n": 3})
    assert (result.raw, result.level, result.calls) == ({"n": 3}, level, 1)
    assert setting.forms() == [form]


async def test_the_requests_are_what_an_endpoint_expects(set_up: SetUp) -> None:
    setting = set_up(["no", "no", "no", "no", '{"n": 3}'], ALL)

    await structured_llm_call(setting.model, ASK, SCHEMA, name="number")

    by_call, by_schema, _, as_text, _ = [request.body for request in setting.endpoint.requests]
    system = {"role": "system", "content": "Be exact."}
    request = STRUCTURED_JSON.format(
        schema='{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
    )
    asked = [system, {"role": "user", "content": f"Which number?\n\n{request}"}]
    assert by_call == {
        "model": "fake",
        "messages": [system, {"role": "user", "content": "Which number?"}],
        "tool_choice": {"type": "function", "function": {"name": "number"}},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "number",
                    "description": "Give the result in the form that was asked for.",
                    "parameters": SCHEMA,
                },
            }
        ],
    }
    form = {"type": "json_schema", "json_schema": {"name": "number", "schema": SCHEMA}}
    assert by_schema == {"model": "fake", "messages": asked, "response_format": form}
    assert as_text == {"model": "fake", "messages": asked}


@pytest.mark.parametrize(
    ("abilities", "forms"),
    [
        pytest.param(ALL, ["result", "json_schema", "json_schema", "text", "text"], id="5"),
        pytest.param(
            TOOLS_AND_JSON, ["result", "json_object", "json_object", "text", "text"], id="also 5"
        ),
        pytest.param(TOOLS, ["result", "text", "text"], id="3"),
        pytest.param(JSON, ["json_object", "json_object", "text", "text"], id="4"),
        pytest.param(PLAIN, ["text", "text"], id="2"),
    ],
)
async def test_at_most_so_many_calls(set_up: SetUp, abilities: Abilities, forms: list[str]) -> None:
    setting = set_up(lambda _: '{"n": "x"}', abilities)

    with pytest.raises(StructuredOutputError) as caught:
        await structured_llm_call(setting.model, ASK, Number)

    assert setting.forms() == forms
    assert caught.value.raw == '{"n": "x"}'
    assert str(caught.value) == (
        f"The model gave no data that fit `result` in {len(forms)} calls: n: Input should be a "
        'valid integer, unable to parse string as an integer. Its last reply was: \'{"n": "x"}\''
    )


@pytest.mark.parametrize(
    ("schema", "reply", "fault"),
    [
        pytest.param(Number, "three", "there is no JSON object", id="prose"),
        pytest.param(Number, "{}", "n: Field required", id="pydantic"),
        pytest.param(SCHEMA, '{"n": "x"}', "'x' is not of type 'integer'", id="JSON schema"),
        pytest.param(
            Number,
            {"content": '{"n": 3', "finish_reason": "length"},
            "it was cut off by the output limit; send a shorter one",
            id="cut off",
        ),
    ],
)
async def test_the_second_try_names_what_was_wrong(
    set_up: SetUp, schema: Any, reply: Reply, fault: str
) -> None:
    setting = set_up([reply, '{"n": 3}'], PLAIN)

    result: StructuredCallResult[Any] = await structured_llm_call(setting.model, ASK, schema)

    assert (result.raw, result.calls) == ({"n": 3}, 2)
    assert setting.last_message() == STRUCTURED_REFORMAT.format(fault=fault)
    said = setting.endpoint.requests[-1].body["messages"][-2]
    text = reply if isinstance(reply, str) else '{"n": 3'
    assert said == {"role": "assistant", "content": text}


def positive(raw: dict[str, Any]) -> str:
    if raw["n"] <= 0:
        raise ValueError("`n` must be positive")
    return f"number {raw['n']}"


async def test_parse_fn_makes_the_object_and_may_reject(set_up: SetUp) -> None:
    setting = set_up(['{"n": -3}', '{"n": 3}'], PLAIN)

    result: StructuredCallResult[Any] = await structured_llm_call(
        setting.model, ASK, Number, parse_fn=positive
    )

    assert (result.value, result.raw) == ("number 3", {"n": 3})
    assert setting.last_message() == STRUCTURED_REFORMAT.format(fault="`n` must be positive")


async def test_the_first_object_that_fits_is_taken(set_up: SetUp) -> None:
    setting = set_up(['For {"q": "example"} I say {"n": 3}.'], PLAIN)

    assert (await structured_llm_call(setting.model, ASK, Number)).value == Number(n=3)


def by_pattern(text: str) -> dict[str, Any] | None:
    found = re.search(r"number is (\d+)", text)
    return {"n": int(found[1])} if found else None


@pytest.mark.parametrize(
    "reply", ["The number is 3.", 'The number is 3: {"answer": "three"}'], ids=["no JSON", "unfit"]
)
async def test_a_pattern_reads_what_json_does_not(set_up: SetUp, reply: str) -> None:
    setting = set_up([reply], PLAIN)

    result: StructuredCallResult[Any] = await structured_llm_call(
        setting.model, ASK, Number, regex_fallback=by_pattern
    )

    assert (result.value, result.level, result.calls) == (Number(n=3), "plain", 1)


async def test_the_default_is_taken_when_all_fails(set_up: SetUp) -> None:
    setting = set_up(["no", "no"], PLAIN)

    result: StructuredCallResult[Any] = await structured_llm_call(
        setting.model, ASK, Number, default_value=None
    )

    assert (result.value, result.raw, result.level, result.calls) == (None, None, None, 2)


async def test_usage_counts_every_try(set_up: SetUp) -> None:
    replies = [
        {"content": text, "usage": {"prompt_tokens": 10, "completion_tokens": n}}
        for n, text in enumerate(["no", "no", "no", '{"n": 3}'], start=1)
    ]
    setting = set_up(replies, TOOLS_AND_JSON)

    result: StructuredCallResult[Any] = await structured_llm_call(setting.model, ASK, Number)

    assert result.usage == {"input_tokens": 40, "output_tokens": 10, "cached_tokens": 0, "calls": 4}
    assert (result.calls, result.level) == (4, "plain")


@pytest.mark.parametrize("profile", ["openai", "groq", "deepseek_thinking", "llamacpp", "no_tools"])
@pytest.mark.parametrize("abilities", [ALL, TOOLS_AND_JSON, JSON, PLAIN])
async def test_refusals_move_a_level_down_and_nothing_is_malformed(
    set_up: SetUp, profile: str, abilities: Abilities
) -> None:
    setting = set_up(served, abilities, profile=profile)

    result: StructuredCallResult[Any] = await structured_llm_call(setting.model, ASK, Number)

    assert result.value == Number(n=3)
    assert [request for request in setting.endpoint.requests if request.malformed] == []
    assert result.calls == 1


def served(body: Json) -> Reply:
    return called({"n": 3}) if "tools" in body else 'I say {"n": 3}.'


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_passing_fault_is_tried_again_at_the_same_level(set_up: SetUp, status: int) -> None:
    setting = set_up([HttpError(status=status), called({"n": 3})])

    result: StructuredCallResult[Any] = await structured_llm_call(setting.model, ASK, Number)

    assert (result.level, result.calls, len(setting.waits)) == ("tool_call", 1, 1)
    assert setting.forms() == ["result", "result"]


@pytest.mark.parametrize(
    ("reply", "kind", "asked"),
    [
        pytest.param(HttpError(status=429), ModelUnavailableError, 3, id="busy"),
        pytest.param(HttpError(status=503), ModelUnavailableError, 3, id="down"),
        pytest.param(HttpError(status=401), ModelRefusedError, 1, id="key"),
        pytest.param(HttpError(status=403), ModelRefusedError, 1, id="permission"),
        pytest.param(
            HttpError(status=400, code="context_length_exceeded"),
            ContextOverflowError,
            1,
            id="overflow",
        ),
    ],
)
async def test_what_is_no_inability_is_raised_even_with_a_default(
    set_up: SetUp, reply: Reply, kind: type[Exception], asked: int
) -> None:
    setting = set_up(lambda _: reply)

    with pytest.raises(kind) as caught:
        await structured_llm_call(setting.model, ASK, Number, default_value=None)

    assert type(caught.value) is kind
    assert setting.forms() == ["result"] * asked


async def test_an_endpoint_that_refuses_everything_is_quoted(set_up: SetUp) -> None:
    setting = set_up(lambda _: HttpError(status=400, message="No."))

    with pytest.raises(StructuredOutputError, match=r"in 0 calls: .* refused \(400\): No\."):
        await structured_llm_call(setting.model, ASK, Number)

    assert setting.forms() == ["result", "json_object", "text"]


CALL = AIMessage("", tool_calls=[tool_call(name="f", args={}, id="c1")])
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


@pytest.mark.parametrize(
    ("messages", "roles"),
    [
        pytest.param([HumanMessage("q")], ["user"], id="the user's words"),
        pytest.param([SystemMessage("s")], ["system", "user"], id="a system message"),
        pytest.param(
            [HumanMessage("q"), CALL, ToolMessage("r", tool_call_id="c1")],
            ["user", "assistant", "tool", "user"],
            id="a tool's result stays with its call",
        ),
        pytest.param(
            [HumanMessage("q"), AIMessage("a")],
            ["user", "assistant", "user"],
            id="the assistant's words stay its own",
        ),
    ],
)
async def test_where_the_form_is_asked_for(
    set_up: SetUp, messages: Sequence[BaseMessage], roles: list[str]
) -> None:
    setting = set_up(['{"n": 3}'], PLAIN)

    await structured_llm_call(setting.model, messages, Number)

    sent = setting.endpoint.requests[0].body["messages"]
    assert [message["role"] for message in sent] == roles
    assert "JSON schema" in sent[-1]["content"]


async def test_a_picture_is_sent_on(set_up: SetUp) -> None:
    setting = set_up(['{"n": 3}'], PLAIN)

    await structured_llm_call(setting.model, [HumanMessage([PICTURE])], SCHEMA)

    picture, request = setting.endpoint.requests[0].body["messages"][0]["content"]
    assert picture == PICTURE
    assert (request["type"], "JSON schema" in request["text"]) == ("text", True)


async def test_the_callers_schema_and_messages_stay_as_they_are(set_up: SetUp) -> None:
    setting = set_up(["no", "no", "no", "no", '{"n": 3}'], ALL)
    schema: dict[str, Any] = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
    messages = [HumanMessage("Which number?")]

    result: StructuredCallResult[Any] = await structured_llm_call(setting.model, messages, schema)

    assert result.value == {"n": 3}
    assert schema == {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert messages == [HumanMessage("Which number?")]


@pytest.mark.parametrize(
    ("messages", "schema", "fault"),
    [
        pytest.param([], SCHEMA, "`messages` is empty", id="nothing to ask"),
        pytest.param(ASK, {"type": "whole"}, "no JSON schema: 'whole'", id="no schema"),
    ],
)
async def test_a_wrong_request_is_found_before_any_call(
    set_up: SetUp, messages: Sequence[BaseMessage], schema: Any, fault: str
) -> None:
    setting = set_up([])

    with pytest.raises(ConfigError, match=fault):
        await structured_llm_call(setting.model, messages, schema)

    assert setting.endpoint.asked == 0
