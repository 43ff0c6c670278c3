"""The answer as data: by a model or a schema, for an agent, a graph or one run."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import orjson
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.tool import tool_call
from pydantic import BaseModel, field_validator

from graph_agent import ReActAgent, RunOptions, build_graph
from graph_agent.errors import ConfigError, ModelUnavailableError
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.retry import RetryPolicy
from graph_agent.server.app import create_app
from graph_agent.state import AgentInput
from graph_agent.structured_answer import OUT_OF_TIME
from graph_agent.testing import HttpError, ScriptedChatModel, check_events
from graph_agent.testing.replies import Silence

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]


class City(BaseModel):
    """A city with its people."""

    name: str
    people: int = 0

    @field_validator("name")
    @classmethod
    def _is_capital(cls, name: str) -> str:
        if name.islower():
            raise ValueError("write it with a capital letter")
        return name


SCHEMA = City.model_json_schema()
SEOUL = {"name": "Seoul", "people": 9_300_000}


def count(city: str) -> str:
    """Count the people of a city.

    Args:
        city: Its name.
    """
    return "9300000 people"


def called(data: Any) -> dict[str, Any]:
    """A reply to the forced call."""
    call = {"id": "a", "name": "answer", "arguments": orjson.dumps(data).decode()}
    return {"tool_calls": [call]}


def replies(speech: Any, *last: Any) -> list[Any]:
    call = speech.calls(("count", {"city": "Seoul"}))
    return [call, speech.final("9.3 million"), "Seoul has **9.3 million** people.", *last]


@pytest.mark.parametrize(
    ("form", "structured"),
    [
        pytest.param(City, City(name="Seoul", people=9_300_000), id="model"),
        pytest.param(SCHEMA, SEOUL, id="schema"),
    ],
)
async def test_a_run_gives_its_answer_as_data_too(
    set_stage: SetStage, speech: Any, form: Any, structured: Any
) -> None:
    stage = set_stage(replies(speech, called(SEOUL)), [count])

    result = await stage.agent.run("How many in Seoul?", thread_id="t", response_format=form)

    assert result.answer == "Seoul has **9.3 million** people."
    assert (result.structured, result.structured_error) == (structured, None)
    assert (await stage.agent.snapshot("t")).values["structured"] == SEOUL
    assert result.usage["by_purpose"]["structured"]["calls"] == 1
    assert [request for request in stage.endpoint.requests if request.malformed] == []


async def test_the_data_are_made_from_the_whole_trace(set_stage: SetStage, speech: Any) -> None:
    stage = set_stage(replies(speech, called(SEOUL)), [count])

    await stage.agent.run("How many in Seoul?", response_format=City)

    told = stage.sent(3)[-1][1]
    assert "Question: How many in Seoul?" in told
    assert 'count(city="Seoul") -> 9300000 people' in told
    assert told.endswith("Answer that the user was given:\nSeoul has **9.3 million** people.")
    function = stage.endpoint.requests[3].body["tools"][0]["function"]
    assert (function["name"], function["strict"]) == ("answer", True)


async def test_an_agents_form_holds_for_every_run_and_a_runs_own_goes_before(
    set_stage: SetStage, speech: Any
) -> None:
    own = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
    script = [speech.final("Seoul"), called(SEOUL), speech.final("one"), called({"n": 1})]
    stage = set_stage(script)
    agent = ReActAgent(
        stage.agent.model,
        database="memory:",
        use_native_tools=speech.mode == "native",
        response_format=City,
    )

    async with agent:
        first = await agent.run("Which city?", thread_id="t")
        second = await agent.run("How many?", thread_id="t", response_format=own)

    assert first.structured == City(name="Seoul", people=9_300_000)
    assert second.structured == {"n": 1}


async def test_the_next_run_has_no_data_of_the_one_before(set_stage: SetStage, speech: Any) -> None:
    stage = set_stage([speech.final("Seoul"), called(SEOUL), speech.final("Hello.")])
    await stage.agent.run("Which city?", thread_id="t", response_format=SCHEMA)

    result = await stage.agent.run("Hi", thread_id="t")

    assert (result.structured, result.structured_error) == (None, None)
    assert (await stage.agent.snapshot("t")).values["structured"] is None


@pytest.mark.parametrize(
    ("data", "structured"),
    [pytest.param(called(SEOUL), SEOUL, id="made"), pytest.param("no", None, id="failed")],
)
async def test_the_last_event_tells_them_where_they_were_asked_for(
    set_stage: SetStage, speech: Any, data: Any, structured: Any
) -> None:
    stage = set_stage(lambda body: data if asked_for_data(body) else speech.final("Seoul"))
    options = RunOptions(response_format=SCHEMA)

    asked = [e async for e in stage.agent.stream("Which?", options=options)]
    not_asked = [e async for e in stage.agent.stream("Which?")]

    check_events(asked)
    check_events(not_asked)
    assert asked[-2]["data"]["structured"] == structured
    assert asked[-2]["data"]["answer"] == "Seoul"
    assert "structured" not in not_asked[-2]["data"]


def asked_for_data(body: dict[str, Any]) -> bool:
    return "tools" in body or "JSON schema" in orjson.dumps(body["messages"]).decode()


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        pytest.param("no", "The model gave no data that fit `answer` in 5 calls", id="unfit"),
        pytest.param(HttpError(status=503), "The model's endpoint answered 503", id="down"),
        pytest.param(HttpError(status=400, message="No."), "refused (400): No.", id="refused"),
        pytest.param(
            HttpError(status=400, code="context_length_exceeded"), "does not fit", id="too long"
        ),
    ],
)
async def test_a_failure_costs_the_data_and_not_the_answer(
    set_stage: SetStage, speech: Any, caplog: pytest.LogCaptureFixture, reply: Any, error: str
) -> None:
    stage = set_stage(lambda body: reply if asked_for_data(body) else speech.final("Seoul"))

    result = await stage.agent.run("Which city?", response_format=City)

    assert (result.answer, result.stop_reason, result.structured) == ("Seoul", "final", None)
    assert error in str(result.structured_error)
    assert f"the answer of run {result.run_id} has no data" in caplog.text


async def test_the_runs_time_covers_the_data(set_stage: SetStage, speech: Any) -> None:
    stage = set_stage([speech.final("Seoul"), Silence(after=None)], run_timeout=1.5)

    result = await stage.agent.run("Which city?", response_format=City)

    assert (result.answer, result.structured) == ("Seoul", None)
    assert result.structured_error == OUT_OF_TIME


async def test_a_fallback_model_makes_the_data() -> None:
    once = RetryPolicy(max_retries=0)
    call = tool_call(name="answer", args=SEOUL, id="a")
    other = ScriptedChatModel(replies=[AIMessage("", tool_calls=[call])])
    first = ScriptedChatModel(replies=["Seoul", ModelUnavailableError("down")])
    fallback = LanguageModel.of(other, name="other", retry=once)
    model = LanguageModel.of(first, name="first", retry=once, fallbacks=(fallback,))

    async with ReActAgent(model, database="memory:") as agent:
        result = await agent.run("Which city?", response_format=City)

    assert (result.answer, result.structured) == ("Seoul", City(name="Seoul", people=9_300_000))


async def test_a_models_own_validator_is_asked(set_stage: SetStage, speech: Any) -> None:
    stage = set_stage([speech.final("Seoul"), called({"name": "seoul"}), '{"name": "Seoul"}'])

    result = await stage.agent.run("Which city?", response_format=City)

    assert result.structured == City(name="Seoul")


async def test_a_message_that_comes_meanwhile_is_answered(set_stage: SetStage, speech: Any) -> None:
    async def more(body: dict[str, Any]) -> Any:
        await stage.agent.interrupt("t", "And Busan?")
        return called(SEOUL)

    busan = {"name": "Busan", "people": 3_300_000}
    stage = set_stage([speech.final("Seoul"), more, speech.final("Busan"), called(busan)])

    result = await stage.agent.run("Which city?", thread_id="t", response_format=SCHEMA)

    assert (result.answer, result.structured) == ("Busan", busan)
    assert result.usage["by_purpose"]["structured"]["calls"] == 2


async def test_a_graph_keeps_the_data_in_its_state(set_stage: SetStage, speech: Any) -> None:
    stage = set_stage([speech.final("Seoul"), called(SEOUL)] * 2)
    native = speech.mode == "native"
    graph = build_graph(stage.agent.model, use_native_tools=native, response_format=City)
    plain = build_graph(stage.agent.model, use_native_tools=native)
    asked = AgentInput(messages=[HumanMessage("Which city?")])

    whole = await graph.ainvoke(asked)
    # As a client of `langgraph dev` says it.
    one = await plain.ainvoke(asked, context={"response_format": SCHEMA})  # type: ignore[call-overload]  # JSON

    assert (whole["structured"], one["structured"]) == (SEOUL, SEOUL)


WRONG = [
    pytest.param({"type": "array"}, "data are asked for as an object", id="no object"),
    pytest.param({"type": "whole"}, "is no JSON schema", id="no schema"),
    pytest.param({"$ref": "http://127.0.0.1:9/x"}, "is not in it", id="elsewhere"),
]


@pytest.mark.parametrize(("schema", "fault"), WRONG)
async def test_a_wrong_schema_is_found_before_any_call(
    set_stage: SetStage, schema: dict[str, Any], fault: str
) -> None:
    stage = set_stage([])

    with pytest.raises(ConfigError, match=fault):
        await stage.agent.run("Hi", response_format=schema)
    with pytest.raises(ConfigError, match=fault):
        await anext(stage.agent.stream("Hi", options=RunOptions(response_format=schema)))
    with pytest.raises(ConfigError, match=fault):
        build_graph(ScriptedChatModel(replies=[]), response_format=schema)

    assert stage.endpoint.asked == 0
    assert await stage.agent.threads() == []


@pytest.fixture
async def open_web() -> Any:
    """Serve an agent without a network, with one thread."""
    async with AsyncExitStack() as opened:

        async def one(agent: ReActAgent) -> tuple[httpx.AsyncClient, str]:
            app = create_app(agent=agent)
            await opened.enter_async_context(app.router.lifespan_context(app))
            web = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")
            await opened.enter_async_context(web)
            made = (await web.post("/api/threads")).json()
            return web, f"/api/threads/{made['thread_id']}/runs"

        yield one


OpenWeb = Callable[[ReActAgent], Awaitable[tuple[httpx.AsyncClient, str]]]
JSON = {"Accept": "application/json"}


async def test_a_client_gives_a_schema_and_gets_data(
    set_stage: SetStage, speech: Any, open_web: OpenWeb
) -> None:
    stage = set_stage(replies(speech, called(SEOUL)), [count])
    web, runs = await open_web(stage.agent)

    body = {"message": "How many in Seoul?", "response_format": SCHEMA}
    done = (await web.post(runs, json=body, headers=JSON)).json()

    assert (done["structured"], done["answer"]) == (SEOUL, "Seoul has **9.3 million** people.")


async def test_a_client_that_wants_no_data_hears_nothing_of_them(
    set_stage: SetStage, speech: Any, open_web: OpenWeb
) -> None:
    web, runs = await open_web(set_stage([speech.final("Hello.")]).agent)

    done = (await web.post(runs, json={"message": "Hi"}, headers=JSON)).json()

    assert "structured" not in done


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        *(
            pytest.param({"message": "Hi", "response_format": case.values[0]}, case.values[1])
            for case in WRONG
        ),
        pytest.param({"message": [{"type": "audio"}]}, "Block 1 of the message", id="block"),
        pytest.param(
            {"message": [{"type": "image", "url": "https://example.org/a.png"}]},
            "the model `fake` reads none",
            id="image",
        ),
    ],
)
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_a_wrong_request_is_a_problem_and_no_run(
    set_stage: SetStage, open_web: OpenWeb, body: Any, fault: str, accept: str
) -> None:
    stage = set_stage([])
    web, runs = await open_web(stage.agent)

    response = await web.post(runs, json=body, headers={"Accept": accept})

    problem = response.json()
    assert (response.status_code, problem["code"]) == (400, "config")
    assert fault in problem["detail"]
    assert stage.endpoint.asked == 0


async def test_a_client_may_send_blocks(
    set_stage: SetStage, speech: Any, open_web: OpenWeb
) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    stage = set_stage([speech.final("a cat")], spec={"abilities": {"vision": True}})
    web, runs = await open_web(stage.agent)

    message = [{"type": "text", "text": "Who?"}, image]
    done = (await web.post(runs, json={"message": message}, headers=JSON)).json()

    assert done["answer"] == "a cat"
    assert stage.sent(0)[-1] == ("user", message)
    shown = (await web.get(runs.removesuffix("/runs"))).json()
    assert (shown["title"], shown["messages"][0]["content"]) == ("Who? [image]", "Who?\n[image]")
