"""A limit of tokens, money or time ends a run with an answer that names it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata

from graph_agent import ReActAgent, Settings
from graph_agent.errors import ConfigError
from graph_agent.limits import limit_named, limit_reached, spent
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.prices import Prices
from graph_agent.state import RunUsage, Switched, Turn, Usage
from graph_agent.testing import Deltas, Gate, ScriptedChatModel, Silence

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
PRICES = Prices(input=1.0, output=10.0, cached=0.1)
FOUND = "The work is not finished. This is what was done and found:\n\n"
NOTE = "\n\n*Stopped at the limit of {}; this is what was found until then.*"


def usage(tokens: int = 0, purpose: str = "loop") -> RunUsage:
    part = Usage(input_tokens=tokens, output_tokens=0, cached_tokens=0, calls=1)
    return RunUsage(**part, by_purpose={purpose: part})


def settings(**limits: Any) -> Settings:
    return Settings(database="memory:", **limits)


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


@pytest.mark.parametrize(
    ("limits", "used", "reason"),
    [
        pytest.param({}, {"elapsed": 1e9, "spent": 1e9}, None, id="none is set"),
        pytest.param({"max_total_tokens": 101}, {"elapsed": 0}, None, id="fewer tokens"),
        pytest.param({"max_total_tokens": 100}, {"elapsed": 0}, "token_limit", id="tokens"),
        pytest.param({"max_cost": 2}, {"elapsed": 0, "spent": 1.9}, None, id="less money"),
        pytest.param({"max_cost": 2}, {"elapsed": 0, "spent": 2.0}, "token_limit", id="money"),
        pytest.param({"run_timeout": 10}, {"elapsed": 7.9}, None, id="time to work"),
        pytest.param({"run_timeout": 10}, {"elapsed": 8}, "time_limit", id="time to answer"),
        pytest.param({"run_timeout": 600}, {"elapsed": 569}, None, id="long, time to work"),
        pytest.param({"run_timeout": 600}, {"elapsed": 570}, "time_limit", id="long"),
    ],
)
def test_which_limit_is_reached(limits: Any, used: Any, reason: str | None) -> None:
    assert limit_reached(usage(100), settings(**limits), **used) == reason


@pytest.mark.parametrize(
    ("reason", "named"),
    [
        ("max_iterations", "7 iterations"),
        ("repeated_calls", "5 equal calls with equal results"),
        ("time_limit", "0.5 seconds"),
        ("token_limit", "1,000 tokens"),
    ],
)
def test_how_a_limit_is_named(reason: Any, named: str) -> None:
    chosen = settings(run_timeout=0.5, max_total_tokens=1_000, max_cost=2)

    assert limit_named(reason, usage(1_000), chosen, iterations=7) == named


def test_money_is_named_where_tokens_are_left() -> None:
    chosen = settings(max_total_tokens=1_000, max_cost=0.25)

    assert limit_named("token_limit", usage(999), chosen, iterations=7) == "a cost of 0.25"


def test_each_purpose_is_paid_to_the_model_that_served_it() -> None:
    turn = Turn(run_id="r", start=0, started_at=0.0)
    cheap = Prices(input=0.5, output=0.5, cached=0.5)

    costs = [
        spent(turn, usage(1_000_000, purpose), PRICES, cheap)
        for purpose in ("loop", "synthesize", "select_tools")
    ]

    assert costs == [1.0, 1.0, 0.5]


def test_what_was_used_before_a_change_of_model_is_paid_by_its_prices() -> None:
    switched = Switched(model="other", usage=usage(1_000_000), spent=7.0)
    turn = Turn(run_id="r", start=0, started_at=0.0, switched=switched)

    assert spent(turn, usage(3_000_000), PRICES, PRICES) == 9.0


@pytest.mark.parametrize("fallback", [None, Prices(input=1, output=1, cached=1)])
def test_money_cannot_be_limited_without_prices(fallback: Prices | None) -> None:
    other = LanguageModel.of(ScriptedChatModel(replies=[]), name="other", prices=None)
    model = LanguageModel.of(
        ScriptedChatModel(replies=[]), name="main", prices=fallback, fallbacks=(other,)
    )

    with pytest.raises(ConfigError) as caught:
        ReActAgent(model, max_cost=1, database="memory:")

    name = "other" if fallback else "main"
    assert str(caught.value) == (
        f"`max_cost` needs the prices of the model `{name}`: add `input_price` and "
        f"`output_price`, money per million tokens, to `[models.{name}]`, or take `max_cost` out."
    )


async def test_tokens_stop_a_run_with_a_synthesised_answer(
    set_stage: SetStage, speech: Any
) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}))
    stage = set_stage([call, "It is 3."], [add], max_total_tokens=1)

    done = (await stage.ask("1 + 2?"))[-2]["data"]

    assert (done["stop_reason"], done["iterations"]) == ("token_limit", 1)
    assert done["answer"] == "It is 3." + NOTE.format("1 tokens")


async def test_an_answer_that_is_there_is_no_matter_for_a_limit(
    set_stage: SetStage, speech: Any
) -> None:
    stage = set_stage([speech.final("Paris")], [add], max_total_tokens=1)

    done = (await stage.ask("Capital of France?"))[-2]["data"]

    assert (done["stop_reason"], done["answer"]) == ("final", "Paris")


async def test_money_stops_a_run(speech: Any) -> None:
    used = UsageMetadata(input_tokens=500_000, output_tokens=100_000, total_tokens=600_000)
    calls = [{"name": "add", "args": {"a": 1, "b": 2}, "id": "c", "type": "tool_call"}]
    content = speech.calls(("add", {"a": 1, "b": 2}))["content"]
    native = speech.mode == "native"
    call = AIMessage(content, tool_calls=calls if native else [], usage_metadata=used)
    model = LanguageModel.of(ScriptedChatModel(replies=[call, "It is 3."]), prices=PRICES)
    agent = ReActAgent(model, [add], database="memory:", max_cost=1.5, use_native_tools=native)

    result = await agent.run("1 + 2?")
    await agent.aclose()

    assert result.stop_reason == "token_limit"
    assert result.answer == "It is 3." + NOTE.format("a cost of 1.5")


async def test_time_ends_a_call_of_the_model_that_hangs(set_stage: SetStage, speech: Any) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}))
    stage = set_stage([call, Silence(after=None), "It is 3."], [add], run_timeout=1.5)

    done = (await stage.ask("1 + 2?"))[-2]["data"]

    assert (done["stop_reason"], done["iterations"]) == ("time_limit", 1)
    assert done["answer"] == "It is 3." + NOTE.format("1.5 seconds")
    assert 1.2 <= done["elapsed"] < 1.5


async def test_time_ends_a_tool_that_hangs_and_its_call_has_a_result(
    set_stage: SetStage, speech: Any
) -> None:
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    stage = set_stage([speech.calls(("hang", {})), "Nothing was found."], [hang], run_timeout=1)

    result = await stage.agent.run("q", thread_id="thread")

    assert result.stop_reason == "time_limit"
    assert result.answer == "Nothing was found." + NOTE.format("1 seconds")
    told = [step.observation.partition(" within ")[0] for step in result.steps]
    assert told == ["Error: `hang` did not finish"]
    stage.endpoint.reply(speech.final("Well."))
    assert await stage.answer("again") == "Well."


async def test_time_ends_a_selection_that_hangs(set_stage: SetStage, speech: Any) -> None:
    def subtract(a: int, b: int) -> int:
        """Subtract."""
        return a - b

    stage = set_stage(
        [Silence(after=None)], [add, subtract], tool_selection_threshold=1, run_timeout=0.5
    )

    done = (await stage.ask("q"))[-2]["data"]

    assert (done["stop_reason"], done["iterations"], stage.endpoint.asked) == ("time_limit", 0, 1)
    assert done["answer"].endswith(NOTE.format("0.5 seconds"))
    assert 0.4 <= done["elapsed"] < 0.5


async def test_time_ends_an_answer_that_hangs_and_the_run_is_never_longer(
    set_stage: SetStage, speech: Any
) -> None:
    stuck = Deltas([{"content": "It i"}, Gate()])
    call = speech.calls(("add", {"a": 1, "b": 2}))
    stage = set_stage([call, Silence(after=None), stuck], [add], run_timeout=1.5)

    events = await stage.ask("1 + 2?")

    done = events[-2]["data"]
    assert done["answer"] == f"{FOUND}- `add` found: 3" + NOTE.format("1.5 seconds")
    assert sum(e["data"].get("status") == "reset" for e in events) == 1
    assert done["elapsed"] < 2


async def test_the_time_while_a_run_stood_still_does_not_count(
    set_stage: SetStage, speech: Any
) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Wait."""
        reached.set()
        await go_on.wait()
        return "waited"

    stage = set_stage(
        [speech.calls(("wait", {})), speech.final("Draft."), "Done."], [wait], run_timeout=2
    )
    running = asyncio.create_task(stage.ask("q"))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.sleep(1.7)  # longer than the loop may take
    go_on.set()

    result = await stage.agent.resume("thread")

    assert (result.answer, result.stop_reason) == ("Done.", "final")


async def test_a_message_at_a_limit_is_answered_by_the_synthesis(
    set_stage: SetStage, speech: Any
) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        """Wait."""
        started.set()
        await go_on.wait()
        return "R"

    stage = set_stage([speech.calls(("slow", {})), "Both."], [slow], max_total_tokens=1)
    run = asyncio.create_task(stage.ask("q"))
    await started.wait()
    await stage.agent.interrupt("thread", "and more")
    go_on.set()

    done = (await run)[-2]["data"]

    assert done["answer"].startswith("Both.")
    assert "and more" in stage.sent(1)[-1][1]
    assert stage.endpoint.asked == 2
