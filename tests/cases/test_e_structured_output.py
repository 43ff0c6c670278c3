"""Group E: data of a given shape, from endpoints that refuse one way or another to give them."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Optional, Union

import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import BaseModel

from graph_agent.errors import ModelUnavailableError, StructuredOutputError
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.models.retry import RetryPolicy
from graph_agent.models.spec import Abilities
from graph_agent.structured import structured_llm_call
from graph_agent.testing import HttpError, StrictEndpoint
from graph_agent.testing.profiles import PROFILES

pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ASK: list[BaseMessage] = [HumanMessage("Which number?")]
ALL = Abilities(tool_call=True, json_mode=True, json_schema=True)
NO_TOOLS = Abilities(tool_call=False, json_mode=True, json_schema=True)


@dataclass
class Setup:
    """A model, and the endpoint that it asks."""

    model: LanguageModel
    endpoint: StrictEndpoint
    waits: list[float] = field(default_factory=list)

    def forms(self) -> list[str]:
        """How each request asked for the data."""
        return [_form(request.body) for request in self.endpoint.requests]

    def malformed(self) -> list[Any]:
        return [request for request in self.endpoint.requests if request.malformed]


def _form(body: dict[str, Any]) -> str:
    if "tools" in body:
        choice = body.get("tool_choice", "auto")
        return f"tool, {choice if isinstance(choice, str) else 'forced'}"
    return str(body.get("response_format", {"type": "text"})["type"])


SetUp = Callable[..., Setup]


@pytest.fixture
async def set_up() -> AsyncIterator[SetUp]:
    chats: list[CompatibleChatModel] = []
    with ExitStack() as endpoints:

        def one(replies: Any, abilities: Abilities = ALL, profile: Any = "openai") -> Setup:
            endpoint = endpoints.enter_context(StrictEndpoint(replies, profile=profile))
            chat = CompatibleChatModel(model="fake", base_url=endpoint.base_url, api_key="k")
            chats.append(chat)
            waits: list[float] = []

            async def sleep(seconds: float) -> None:
                waits.append(seconds)

            retry = RetryPolicy(max_retries=2, sleep=sleep)
            return Setup(LanguageModel.of(chat, abilities=abilities, retry=retry), endpoint, waits)

        yield one
        for chat in chats:
            await chat.aclose()


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("This response_format type is unavailable now", id="B51-deepseek"),
        pytest.param("This model does not support response format `json_schema`.", id="B51-groq"),
        pytest.param("'response_format.type' must be 'json_object'", id="B51-local"),
    ],
)
async def test_a_refused_schema_is_asked_for_as_json_and_not_tried_again(
    set_up: SetUp, words: str
) -> None:
    profile = replace(PROFILES["openai"], refuses_json_schema=words)
    setup = set_up(lambda _: '{"n": 3}', NO_TOOLS, profile)

    first = await structured_llm_call(setup.model, ASK, SCHEMA)
    second = await structured_llm_call(setup.model, ASK, SCHEMA)

    assert (first.value, second.value) == ({"n": 3}, {"n": 3})
    assert setup.forms() == ["json_schema", "json_object", "json_object"]
    assert setup.model.abilities == Abilities(tool_call=False, json_mode=True, json_schema=False)
    assert setup.malformed() == []


async def test_a_refused_choice_of_tool_costs_one_request(set_up: SetUp) -> None:
    """B52."""
    profile = replace(
        PROFILES["openai"],
        refuses_forced_tool_choice="Thinking mode does not support this tool_choice",
    )
    setup = set_up(lambda _: 'I think the answer is {"n": 3}, as asked.', ALL, profile)

    first = await structured_llm_call(setup.model, ASK, SCHEMA)
    second = await structured_llm_call(setup.model, ASK, SCHEMA)

    assert (first.value, second.value) == ({"n": 3}, {"n": 3})
    assert setup.forms() == ["tool, forced", "tool, auto", "tool, auto"]
    assert setup.malformed() == []


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_passing_fault_never_moves_a_level_down(set_up: SetUp, status: int) -> None:
    """B52."""
    setup = set_up(lambda _: HttpError(status=status))

    with pytest.raises(ModelUnavailableError):
        await structured_llm_call(setup.model, ASK, SCHEMA)

    assert setup.forms() == ["tool, forced"] * 3
    assert len(setup.waits) == 2


def look(number: int) -> str:
    """Look.

    Args:
        number: Which.
    """
    return f"seen {number}"


async def test_each_schema_that_is_refused_costs_one_request_in_all_runs(
    set_stage: Callable[..., Any], speech: Any
) -> None:
    """B51, for what one schema holds: the run goes on with any JSON, and so does the next one."""
    words = "Invalid schema for response_format: In context=(), 'anyOf' is not permitted."
    run = [speech.calls(("look", {"number": 1})), speech.final("ok"), "no data", '{"n": 3}']
    stage = set_stage(
        [*run, *run],
        [look],
        profile=replace(PROFILES["openai"], refuses_json_schema=words),
        spec={"abilities": {"json_schema": True}},
        synthesis="never",
    )

    results = [await stage.agent.run("Look.", response_format=SCHEMA) for _ in range(2)]

    assert [(result.answer, result.structured) for result in results] == [("ok", {"n": 3})] * 2
    loop = ["tool, auto"] * 2 if speech.mode == "native" else ["json_object"] * 2
    refused = [] if speech.mode == "native" else ["json_schema"]
    assert [_form(request.body) for request in stage.endpoint.requests] == [
        *(*refused, *loop, "tool, forced", "json_schema", "json_object"),
        *(*loop, "tool, forced", "json_object"),
    ]


class Part(BaseModel):
    """A part."""

    size: int = 5


class Left(BaseModel):
    """One of two."""

    left: str


class Right(BaseModel):
    """The other."""

    right: int


class Wide(BaseModel):
    """What strict mode takes, if it is put so."""

    part: Optional[Part] = None  # noqa: UP045 -- as people write it
    side: Union[Left, Right]  # noqa: UP007 -- as people write it
    more: list["Wide"] = []


class Free(Wide):
    """What it does not take: names of one's own."""

    found: dict[str, Any] = {}


WIDE = {"part": {"size": None}, "side": {"right": 1, "left": None}, "more": None}


@pytest.mark.parametrize(
    ("abilities", "place"),
    [
        pytest.param(ALL, "parameters", id="a forced call"),
        pytest.param(NO_TOOLS, "schema", id="a schema"),
    ],
)
@pytest.mark.parametrize(
    ("schema", "strict"),
    [pytest.param(Wide, True, id="B54-strict"), pytest.param(Free, None, id="B54-free-form")],
)
@pytest.mark.parametrize("kind", ["model", "JSON schema"])
async def test_schemas_are_sent_by_the_strict_rules_or_not_as_strict(
    set_up: SetUp,
    kind: str,
    schema: type[Wide],
    strict: bool | None,
    abilities: Abilities,
    place: str,
) -> None:
    call = {"id": "c", "name": "result", "arguments": WIDE}
    reply: Any = {"tool_calls": [call]} if abilities.tool_call else json.dumps(WIDE)
    setup = set_up([reply], abilities)
    plain = schema.model_json_schema()

    given: Any = schema if kind == "model" else plain
    result = await structured_llm_call(setup.model, ASK, given)

    body = setup.endpoint.requests[0].body
    sent = (
        body["tools"][0]["function"] if "tools" in body else body["response_format"]["json_schema"]
    )
    assert (sent.get("strict"), place in sent) == (strict, True)
    assert setup.malformed() == []
    assert result.raw == {"part": {}, "side": {"right": 1, "left": None}}
    assert plain == schema.model_json_schema()
    expected = schema(part=Part(size=5), side=Right(right=1))
    assert result.value == (expected if kind == "model" else result.raw)


@pytest.mark.parametrize(
    ("abilities", "calls"),
    [
        pytest.param(ALL, 5, id="B57-tools and JSON"),
        pytest.param(NO_TOOLS, 4, id="B57-JSON"),
        pytest.param(Abilities(tool_call=False, json_mode=False), 2, id="B57-plain"),
    ],
)
@pytest.mark.parametrize("as_call", [False, True], ids=["as text", "as a call"])
async def test_what_never_fits_ends_after_a_few_calls_and_is_quoted(
    set_up: SetUp, abilities: Abilities, calls: int, *, as_call: bool
) -> None:
    def unfit(body: dict[str, Any]) -> Any:
        call = {"id": "c", "name": "result", "arguments": '{"n": "x"}'}
        return {"tool_calls": [call]} if as_call and "tools" in body else '{"n": "x"}'

    setup = set_up(unfit, abilities)

    with pytest.raises(StructuredOutputError) as caught:
        await structured_llm_call(setup.model, ASK, SCHEMA)

    assert setup.endpoint.asked == calls
    assert caught.value.raw == '{"n": "x"}'
    assert f"in {calls} calls: n: 'x' is not of type 'integer'" in str(caught.value)
