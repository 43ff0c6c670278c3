import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, assert_type

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call
from pydantic import BaseModel, RootModel

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
from graph_agent.structured.levels import LONGEST_ECHO
from graph_agent.structured.shape import shape_of
from graph_agent.testing import HttpError, ScriptedChatModel, StrictEndpoint
from graph_agent.testing.profiles import PROFILES, Profile
from graph_agent.testing.refusal import Refusal
from graph_agent.testing.replies import Json, Reply

pytestmark = pytest.mark.anyio


class Number(BaseModel):
    """One whole number."""

    n: int


class WithCallable(BaseModel):
    """What JSON cannot hold."""

    f: Callable[[], int]


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
    request = STRUCTURED_JSON.format(schema=json.dumps(SCHEMA))
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
                    "parameters": {**SCHEMA, "additionalProperties": False},
                    "strict": True,
                },
            }
        ],
    }
    closed = {**SCHEMA, "additionalProperties": False}
    form = {
        "type": "json_schema",
        "json_schema": {"name": "number", "schema": closed, "strict": True},
    }
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
        pytest.param(SCHEMA, '{"n": "x"}', "n: 'x' is not of type 'integer'", id="JSON schema"),
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

    result = await structured_llm_call(setting.model, ASK, Number, default_value=None)

    assert (result.value, result.raw, result.level, result.calls) == (None, None, None, 2)
    assert result.fault is not None
    assert "there is no JSON object" in result.fault


async def test_the_types_are_those_that_were_asked_for(set_up: SetUp) -> None:
    setting = set_up(lambda _: '{"n": 3}', PLAIN)
    model = setting.model

    assert_type(await structured_llm_call(model, ASK, Number), StructuredCallResult[Number])
    assert_type(await structured_llm_call(model, ASK, SCHEMA), StructuredCallResult[dict[str, Any]])
    assert_type(
        await structured_llm_call(model, ASK, Number, default_value=None),
        StructuredCallResult[Number | None],
    )
    assert_type(
        await structured_llm_call(model, ASK, SCHEMA, parse_fn=positive), StructuredCallResult[str]
    )
    assert setting.endpoint.asked == 4


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param('```json\n{"n": 3}\n```', id="the data as text"),
        pytest.param('I call {"name": "result", "arguments": {"n": 3}}', id="the call as text"),
        pytest.param(called({"n": 3}, name="functions.result"), id="another name"),
        pytest.param(called("{'n': 3,}"), id="broken arguments"),
        pytest.param(called({"n": 3, "m": None}), id="a null for what may be absent"),
    ],
)
async def test_a_forced_call_that_came_otherwise_is_taken(set_up: SetUp, reply: Reply) -> None:
    setting = set_up([reply], TOOLS)
    properties = {"n": {"type": "integer"}, "m": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["n"]}

    result = await structured_llm_call(setting.model, ASK, schema)

    assert (result.raw, result.level, result.calls) == ({"n": 3}, "tool_call", 1)


async def test_a_call_that_was_cut_off_is_not_taken(set_up: SetUp) -> None:
    call = {"id": "c1", "name": "result", "arguments": '{"n": 3}'}
    cut = {"tool_calls": [call], "finish_reason": "length"}
    setting = set_up([cut, '{"n": 4}'], TOOLS)

    assert (await structured_llm_call(setting.model, ASK, Number)).value == Number(n=4)


async def test_the_last_words_are_kept_also_where_they_were_arguments(set_up: SetUp) -> None:
    setting = set_up(lambda _: called({"n": "x"}), TOOLS)

    with pytest.raises(StructuredOutputError) as caught:
        await structured_llm_call(setting.model, ASK, Number)

    assert caught.value.raw == '{"n": "x"}'


async def test_a_long_reply_is_shown_again_in_part(set_up: SetUp) -> None:
    setting = set_up(["word " * 10_000, '{"n": 3}'], PLAIN)

    await structured_llm_call(setting.model, ASK, Number)

    said = setting.endpoint.requests[-1].body["messages"][-2]["content"]
    assert said == ("word " * 10_000)[:LONGEST_ECHO]


async def test_a_second_request_that_does_not_fit_costs_the_level_only(set_up: SetUp) -> None:
    overflow = HttpError(status=400, code="context_length_exceeded")
    setting = set_up(["no", overflow, '{"n": 3}'], JSON)

    result = await structured_llm_call(setting.model, ASK, Number)

    assert (result.value, result.level, result.calls) == (Number(n=3), "plain", 3)


async def test_usage_counts_every_try(set_up: SetUp) -> None:
    replies = [
        {"content": text, "usage": {"prompt_tokens": 10, "completion_tokens": n}}
        for n, text in enumerate(["no", "no", "no", '{"n": 3}'], start=1)
    ]
    setting = set_up(replies, TOOLS_AND_JSON)

    result: StructuredCallResult[Any] = await structured_llm_call(setting.model, ASK, Number)

    assert result.usage == {"input_tokens": 40, "output_tokens": 10, "cached_tokens": 0, "calls": 4}
    assert (result.calls, result.level) == (4, "plain")


TOOLS_FAIL = Refusal(message="this template does not support tools", status=500)


@pytest.mark.parametrize(
    "profile",
    [
        "openai",
        "groq",
        "deepseek_thinking",
        "llamacpp",
        "no_tools",
        pytest.param(replace(PROFILES["qwen"], refuses_tools=TOOLS_FAIL), id="tools are a 500"),
    ],
)
@pytest.mark.parametrize("abilities", [ALL, TOOLS_AND_JSON, JSON, PLAIN])
async def test_refusals_move_a_level_down_and_nothing_is_malformed(
    set_up: SetUp, profile: str | Profile, abilities: Abilities
) -> None:
    setting = set_up(served, abilities, profile=profile)

    result: StructuredCallResult[Any] = await structured_llm_call(setting.model, ASK, Number)

    assert result.value == Number(n=3)
    assert [request for request in setting.endpoint.requests if request.malformed] == []
    assert result.usage["calls"] == 1


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

    with pytest.raises(ModelRefusedError, match=r"refused \(400\): No\."):
        await structured_llm_call(setting.model, ASK, Number, default_value=None)

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
    setting = set_up(['{"n": 3}'], Abilities(tool_call=False, json_mode=False, vision=True))

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
        pytest.param(ASK, {"type": "array"}, "one of `array`", id="no object"),
        pytest.param(ASK, RootModel[list[int]], "one of `array`", id="a model that is a list"),
        pytest.param(ASK, WithCallable, "`WithCallable` cannot be asked for", id="no JSON"),
        pytest.param(ASK, {"$ref": "#/$defs/no"}, "refers to '.*no'", id="lost reference"),
        pytest.param(
            ASK,
            {"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}},
            "refers to 'http://127.0.0.1:9/x'",
            id="reference to another place",
        ),
        pytest.param(ASK, {"$ref": "#"}, "without end", id="refers to itself"),
        pytest.param(
            ASK,
            {"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"$ref": "#/$defs/b"}}},
            "without end",
            id="a part refers to itself",
        ),
    ],
)
async def test_a_wrong_request_is_found_before_any_call(
    set_up: SetUp, messages: Sequence[BaseMessage], schema: Any, fault: str
) -> None:
    setting = set_up([])

    with pytest.raises(ConfigError, match=fault):
        await structured_llm_call(setting.model, messages, schema)

    assert setting.endpoint.asked == 0


LENGTH = {"finish_reason": "length"}
VAIN = {
    "prose": AIMessage("three"),
    "nothing": AIMessage(""),
    "unfit": AIMessage('{"n": "x"}'),
    "a list": AIMessage("[1, 2]"),
    "cut off": AIMessage('{"n": 3', response_metadata=LENGTH),
    "call": AIMessage("", tool_calls=[tool_call(name="result", args={"n": "x"}, id="c1")]),
    "cut call": AIMessage(
        "",
        tool_calls=[tool_call(name="result", args={"n": 3}, id="c1")],
        response_metadata=LENGTH,
    ),
    "blocks": AIMessage([{"type": "text", "text": "no"}]),
    "refused": ModelRefusedError("It cannot do that.", status=400),
    "not found": ModelRefusedError("No such thing.", status=404),
    "schema refused": ModelRefusedError("Invalid schema for response_format", status=400),
}
MOST = {(True, True): 5, (True, False): 3, (False, True): 4, (False, False): 2}


@given(
    kinds=st.lists(st.sampled_from(sorted(VAIN)), min_size=5, max_size=5),
    tools=st.booleans(),
    json_mode=st.booleans(),
    json_schema=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_the_budget_holds_under_every_failure(
    kinds: list[str], *, tools: bool, json_mode: bool, json_schema: bool
) -> None:
    abilities = Abilities(tool_call=tools, json_mode=json_mode, json_schema=json_schema)
    chat = ScriptedChatModel(replies=[VAIN[kind] for kind in kinds])
    model = LanguageModel.of(chat, abilities=abilities, retry=RetryPolicy(max_retries=0))

    with pytest.raises((StructuredOutputError, ModelRefusedError)) as caught:
        asyncio.run(structured_llm_call(model, ASK, Number))

    assert len(chat.asked) <= MOST[tools, json_mode or json_schema]
    last = chat.replies[len(chat.asked) - 1]
    assert isinstance(caught.value, StructuredOutputError) or caught.value is last


@pytest.mark.parametrize(
    ("words", "forms"),
    [
        pytest.param(
            "It takes no json_schema.",
            ["json_schema", "json_object", "json_object", "json_object"],
            id="no schema at all",
        ),
        pytest.param(
            "Invalid schema: too odd.",
            ["json_schema", "json_object", "json_object", "json_schema"],
            id="not this schema",
        ),
    ],
)
async def test_a_refused_schema_is_remembered_of_any_chat_model(
    words: str, forms: list[str]
) -> None:
    refusal = ModelRefusedError(words, status=400)
    chat = ScriptedChatModel(replies=[refusal, '{"n": 3}', '{"n": 4}', "{}"])
    abilities = Abilities(tool_call=False, json_mode=True, json_schema=True)
    model = LanguageModel.of(chat, abilities=abilities)

    first = await structured_llm_call(model, ASK, Number)
    second = await structured_llm_call(model, ASK, Number)
    await structured_llm_call(model, ASK, {"type": "object"})

    assert (first.value, first.calls, second.value) == (Number(n=3), 2, Number(n=4))
    assert [asked.parameters["response_format"]["type"] for asked in chat.asked] == forms


async def test_a_schema_that_was_refused_is_not_sent_where_there_is_no_json_mode() -> None:
    refusal = ModelRefusedError("Invalid schema: too odd.", status=400)
    chat = ScriptedChatModel(replies=[refusal, '{"n": 3}', '{"n": 4}'])
    abilities = Abilities(tool_call=False, json_mode=False, json_schema=True)
    model = LanguageModel.of(chat, abilities=abilities)

    results = [await structured_llm_call(model, ASK, Number) for _ in range(2)]

    assert [(result.value, result.calls, result.level) for result in results] == [
        (Number(n=3), 2, "plain"),
        (Number(n=4), 1, "plain"),
    ]


def test_no_reference_of_a_schema_is_fetched() -> None:
    paths: list[str] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        reference = f"http://127.0.0.1:{server.server_port}/schema.json"
        with pytest.raises(ConfigError, match="is not in it"):
            shape_of({"properties": {"a": {"$ref": reference}}}, name="x")
        server.shutdown()
        thread.join()

    assert paths == []
