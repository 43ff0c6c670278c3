"""Where a model keeps failing, the next one that it names takes over for the rest of the run."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack
from typing import Any

import pytest

from graph_agent import ModelRegistry, ReActAgent, Settings
from graph_agent.errors import (
    ConfigError,
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from graph_agent.events import WireEvent
from graph_agent.models.fallbacks import another_may_do, fallback_order
from graph_agent.models.spec import ModelSpec
from graph_agent.testing import Drop, HttpError, StrictEndpoint, check_events
from graph_agent.testing.replies import Reply

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:9/v1"
DOWN = HttpError(status=503)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ModelUnavailableError("Down."), True),
        (ModelRefusedError("No key.", status=401), True),
        (ModelRefusedError("No access.", status=403), True),
        (ModelRefusedError("No model.", status=404), True),
        (ModelRefusedError("No money.", status=429), True),
        (ModelRefusedError("Bad request.", status=400), False),
        (ModelRefusedError("Bad request.", status=422), False),
        (ModelRefusedError("Bad request."), False),
        (ContextOverflowError("Too long.", status=400), False),
        (ContextOverflowError("Too long.", status=429), False),
        (ModelError("Nonsense."), False),
    ],
    ids=lambda value: repr(value),
)
def test_after_which_failures_another_model_is_asked(error: ModelError, *, expected: bool) -> None:
    assert another_may_do(error) is expected


def test_the_fallbacks_of_a_fallback_come_after_it() -> None:
    named = {"main": ["a", "b"], "a": ["c"], "b": ["c"], "c": []}

    assert fallback_order("main", named.__getitem__) == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("named", "circle"),
    [
        ({"main": ["main"]}, "main → main"),
        ({"main": ["a"], "a": ["main"]}, "main → a → main"),
        ({"main": ["a"], "a": ["b"], "b": ["a"]}, "a → b → a"),
    ],
    ids=["itself", "two", "beyond"],
)
def test_a_circle_is_an_error_when_a_model_is_built(
    named: dict[str, list[str]], circle: str
) -> None:
    specs = {
        name: ModelSpec(model=name, base_url=URL, fallbacks=fallbacks)
        for name, fallbacks in named.items()
    }

    with pytest.raises(ConfigError) as caught:
        ModelRegistry(specs, settings=Settings(database="memory:"), environ={}).get("main")

    assert str(caught.value) == (
        f"The fallbacks of the models go round in a circle: {circle}. "
        "Take one of them out of `fallbacks` in graph-agent.toml."
    )


def test_an_unknown_fallback_is_an_error_when_a_model_is_built() -> None:
    specs = {"main": ModelSpec(model="m", base_url=URL, fallbacks=["nobody"])}
    models = ModelRegistry(specs, settings=Settings(database="memory:"), environ={})

    with pytest.raises(ConfigError, match="There is no model `nobody`"):
        models.get("main")


class Models:
    """An agent over models `m0`, `m1`, …, each the fallback of the one before it."""

    def __init__(self, agent: ReActAgent, endpoints: list[StrictEndpoint]) -> None:
        self.agent = agent
        self.endpoints = endpoints

    @property
    def asked(self) -> list[int]:
        """How often each model was asked."""
        return [endpoint.asked for endpoint in self.endpoints]

    async def ask(self, message: str) -> list[WireEvent]:
        """Run to the end and check the order of what was told."""
        events = [event async for event in self.agent.stream(message, thread_id="thread")]
        check_events(events)
        return events


SetUp = Callable[..., Models]


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


@pytest.fixture
async def set_up(speech: Any) -> AsyncIterator[SetUp]:
    agents: list[ReActAgent] = []
    with ExitStack() as stack:

        def one(*scripts: Iterable[Reply], specs: Any = None, **settings: Any) -> Models:
            endpoints = [stack.enter_context(StrictEndpoint(script)) for script in scripts]
            names = [f"m{number}" for number in range(len(endpoints))]
            described = {
                name: ModelSpec(
                    model=name,
                    base_url=endpoint.base_url,
                    fallbacks=names[place + 1 : place + 2],
                    **(specs or {}).get(name, {}),
                )
                for place, (name, endpoint) in enumerate(zip(names, endpoints, strict=True))
            }
            chosen: dict[str, Any] = {
                "database": "memory:",
                "max_retries": 0,
                "use_native_tools": speech.mode == "native",
            } | settings
            models = ModelRegistry(described, settings=Settings(**chosen), environ={})
            agents.append(ReActAgent("m0", [add], models=models, **chosen))
            return Models(agents[-1], endpoints)

        yield one
        for agent in agents:
            await agent.aclose()


def outcome(events: list[WireEvent]) -> tuple[str, int, str]:
    """Answer, iterations and stop reason of a run."""
    done = events[-2]["data"]
    return done["answer"], done["iterations"], done["stop_reason"]


@pytest.mark.parametrize("status", [401, 403, 404, 503])
async def test_the_next_model_goes_on_in_the_same_iteration(
    set_up: SetUp, speech: Any, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    models = set_up([HttpError(status=status)], [speech.final("Paris")])

    events = await models.ask("Capital of France?")

    assert outcome(events) == ("Paris", 1, "final")
    assert models.asked == [1, 1]
    thoughts = [e["data"]["status"] for e in events if e["data"].get("type") == "thinking"]
    assert thoughts == ["start", "done"]
    assert "model m0 failed, m1 takes over in this run" in caplog.text


async def test_the_change_is_made_once_and_holds_for_loop_and_synthesis(
    set_up: SetUp, speech: Any
) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}))
    models = set_up([call, DOWN], [call, speech.final("3"), "It is 3."])

    assert outcome(await models.ask("1 + 2?")) == ("It is 3.", 3, "final")
    assert models.asked == [2, 3]


async def test_the_next_run_begins_with_the_first_model(set_up: SetUp, speech: Any) -> None:
    models = set_up([DOWN, speech.final("Second.")], [speech.final("First.")])

    answers = [outcome(await models.ask(question))[0] for question in ("1?", "2?")]

    assert (answers, models.asked) == (["First.", "Second."], [2, 1])


async def test_all_are_asked_in_order_and_the_last_ones_failure_is_told(
    set_up: SetUp, speech: Any
) -> None:
    models = set_up([DOWN], [HttpError(status=401)], [HttpError(status=500, message="Burnt.")])

    events = await models.ask("q")

    assert models.asked == [1, 1, 1]
    assert [event["event"] for event in events] == ["step", "step", "error", "end"]
    assert "Burnt." in events[-2]["data"]["message"]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(HttpError(status=400, message="invalid message content type"), id="400"),
        pytest.param(HttpError(status=422, message="invalid message content type"), id="422"),
    ],
)
async def test_a_wrong_request_is_put_to_no_other_model(
    set_up: SetUp, speech: Any, fault: HttpError
) -> None:
    models = set_up([fault], [])

    assert (await models.ask("q"))[-2]["data"]["code"] == "model_refused"
    assert models.asked == [1, 0]


async def test_each_model_is_asked_in_its_own_mode(set_up: SetUp, speech: Any) -> None:
    json_only = {"m1": {"abilities": {"tool_call": False}}}
    final = '{"type": "final_answer", "answer": "Paris"}'
    models = set_up([DOWN], [final], specs=json_only)

    assert outcome(await models.ask("Capital?"))[0] == "Paris"
    offered = ["tools" in endpoint.requests[0].body for endpoint in models.endpoints]
    assert offered == [speech.mode == "native", False]


async def test_the_prompt_is_made_to_fit_the_next_models_window(set_up: SetUp, speech: Any) -> None:
    small = {"m1": {"context_size": 5_000, "max_output_tokens": 1_000}}
    models = set_up([speech.final("word " * 9_000), DOWN], [speech.final("Short.")], specs=small)
    await models.ask("Tell me much.")

    events = await models.ask("And now?")

    assert outcome(events)[0] == "Short."
    assert models.endpoints[1].requests[0].tokens < models.endpoints[0].requests[1].tokens / 2


async def test_the_synthesis_goes_to_the_next_model_before_the_first_token(
    set_up: SetUp, speech: Any
) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}))
    models = set_up([call, speech.final("Draft."), DOWN], ["It is 3."])

    events = await models.ask("1 + 2?")

    assert outcome(events)[0] == "It is 3."
    assert "reset" not in [event["data"].get("status") for event in events]


async def test_and_after_tokens_once_they_are_taken_back(set_up: SetUp, speech: Any) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}))
    broken = Drop(after=[{"content": "It "}])
    models = set_up([call, speech.final("Draft."), broken, broken], ["It is 3."], max_retries=1)

    events = await models.ask("1 + 2?")

    assert (outcome(events)[0], models.asked) == ("It is 3.", [4, 1])
    assert [event["data"].get("status") for event in events].count("reset") == 2


async def test_a_run_that_is_resumed_goes_on_with_the_model_in_use(
    set_up: SetUp, speech: Any
) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}))
    refused = HttpError(status=400, message="invalid message content type")
    models = set_up([DOWN], [call, refused, speech.final("3"), "It is 3."])
    assert (await models.ask("1 + 2?"))[-2]["event"] == "error"

    result = await models.agent.resume("thread")

    assert (result.answer, models.asked) == ("It is 3.", [1, 4])
    switched = (await models.agent.snapshot("thread")).values["turn"]["switched"]
    assert switched["model"] == "m1"
