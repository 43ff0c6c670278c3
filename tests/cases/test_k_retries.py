"""Group K: what is tried again, what is not, and that no text is ever shown twice."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from graph_agent.events import WireEvent
from graph_agent.testing import Deltas, Drop, Gate, HttpError, Silence

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


def worked(speech: Any) -> list[Any]:
    """The loop of a run whose draft is `Draft.`; the synthesis comes next."""
    return [speech.calls(("add", {"a": 1, "b": 2})), speech.final("Draft.")]


def shown(events: list[WireEvent]) -> list[str]:
    """What stood there as the answer: each text that was taken back, and the one that stayed."""
    texts = [""]
    for data in (event["data"] for event in events if event["event"] == "answer"):
        if data["status"] == "reset":
            texts.append("")
        texts[-1] += data.get("content", "")
    return texts


AFTER_TEXT = [
    pytest.param(Drop(after=[{"content": "Hello wor"}]), id="connection reset"),
    pytest.param(
        Deltas([{"content": "Hello wor"}, {"error": {"message": "overloaded"}}]), id="error chunk"
    ),
    pytest.param(Silence(after=[{"content": "Hello wor"}]), id="silence"),
]


@pytest.mark.parametrize("broken", AFTER_TEXT)
async def test_b108_what_broke_off_is_taken_back_and_shown_once(
    set_stage: SetStage, speech: Any, broken: Any
) -> None:
    stage = set_stage(
        [*worked(speech), broken, "Hello world!"],
        [add],
        max_retries=1,
        stream_idle_timeout=0.2,
    )

    events = await stage.ask("q")

    assert shown(events) == ["Hello wor", "Hello world!"]
    assert events[-2]["data"]["answer"] == "Hello world!"
    saved = (await stage.agent.snapshot("thread")).values["messages"]
    assert [m.text for m in saved if m.type == "ai"][1:] == ["Hello world!"]


async def test_b108_a_second_break_ends_with_the_loops_own_text_once(
    set_stage: SetStage, speech: Any
) -> None:
    broken = Drop(after=[{"content": "Hello wor"}])
    stage = set_stage([*worked(speech), broken, broken], [add], max_retries=1)

    events = await stage.ask("q")

    assert shown(events) == ["Hello wor", "Hello wor", "Draft."]
    assert (events[-2]["data"]["answer"], stage.endpoint.asked) == ("Draft.", 4)


async def test_b108_nothing_begins_anew_after_the_deadline(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    late = Deltas([{"content": "Hello wor"}, gate, {"error": {"message": "overloaded"}}])
    stage = set_stage([*worked(speech), late], [add], max_retries=4, retry_deadline=0.001)

    run = asyncio.create_task(stage.ask("q"))
    await gate.reached()
    gate.open()

    assert shown(await run) == ["Hello wor", "Draft."]


async def test_b108_before_the_first_piece_it_is_tried_again_without_a_reset(
    set_stage: SetStage, speech: Any
) -> None:
    failing = HttpError(status=503, headers=[("retry-after", "0")])
    stage = set_stage([*worked(speech), failing, "Hello world!"], [add], max_retries=1)

    assert shown(await stage.ask("q")) == ["Hello world!"]


async def test_b108_a_call_that_broke_off_is_discarded_and_one_whole_call_runs(
    set_stage: SetStage, speech: Any
) -> None:
    ran: list[str] = []

    def save(path: str) -> str:
        """Save.

        Args:
            path: Where.
        """
        ran.append(path)
        return "saved"

    # The loop does not stream: what breaks in the middle of the arguments is the reply's body.
    replies = [
        Drop(after=[]),
        speech.calls(("save", {"path": "/a"})),
        speech.final("Saved."),
        "Saved.",
    ]
    stage = set_stage(replies, [save], max_retries=1)

    assert await stage.answer("q") == "Saved."
    assert ran == ["/a"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_b111_a_clients_error_is_asked_once_and_the_thread_goes_on(
    set_stage: SetStage, speech: Any, status: int
) -> None:
    fault = HttpError(status=status, message="invalid message content type")
    stage = set_stage([fault, speech.final("Well.")], [add], max_retries=4)

    events = await stage.ask("q")

    assert [event["event"] for event in events][-2:] == ["error", "end"]
    told = events[-2]["data"]
    assert told["code"] == "model_refused"
    assert f"({status}): invalid message content type." in told["message"]
    assert stage.endpoint.asked == 1
    assert await stage.answer("again") == "Well."


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_b111_what_may_pass_is_tried_again(
    set_stage: SetStage, speech: Any, status: int
) -> None:
    fault = HttpError(status=status, headers=[("retry-after", "0")])
    stage = set_stage([fault, speech.final("Well.")], [add], max_retries=1)

    assert await stage.answer("q") == "Well."
    assert stage.endpoint.requests[0].raw == stage.endpoint.requests[1].raw


async def test_b111_an_account_that_is_used_up_is_asked_once(
    set_stage: SetStage, speech: Any
) -> None:
    fault = HttpError(status=429, code="insufficient_quota", message="You exceeded your quota.")
    stage = set_stage([fault], [add], max_retries=4)

    told = (await stage.ask("q"))[-2]["data"]

    assert stage.endpoint.asked == 1
    assert told["message"].startswith("The account of the model's endpoint is used up (429)")


async def test_b112_a_cancel_during_the_silence_ends_the_run_at_once(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    stage = set_stage([*worked(speech), Silence(after=[{"content": "a"}, gate])], [add])
    run = asyncio.create_task(stage.ask("q"))
    await gate.reached()
    gate.open()

    run.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, timeout=1)


async def test_b112_a_slow_stream_that_lives_is_not_cut(set_stage: SetStage, speech: Any) -> None:
    slow = Deltas([{"content": letter} for letter in "alive"], interval=0.15)
    stage = set_stage([*worked(speech), slow], [add], stream_idle_timeout=0.4, max_retries=1)

    assert shown(await stage.ask("q")) == ["alive"]
    assert stage.endpoint.asked == 3
