"""Group B: whatever a server does with its stream, the run sees the reply that was meant."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from graph_agent.testing import Deltas, RawBytes
from graph_agent.testing.wire import sse_bytes

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("speech", ["native"], indirect=True),
]
SetStage = Callable[..., Any]
STREAMED = {"wire": {"stream_only": True}}
"""The loop, which asks for whole replies, is made to put them together from streams."""


class Tools:
    """Tools that note every call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def all(self) -> list[Callable[..., Awaitable[str]]]:
        async def weather(c: str) -> str:
            """Tell the weather of a city."""
            self.calls.append(("weather", c))
            return "sunny"

        async def time_in(z: int) -> str:
            """Tell the time in a zone."""
            self.calls.append(("time_in", z))
            return "noon"

        async def roll() -> str:
            """Roll a die."""
            self.calls.append(("roll", None))
            return "4"

        return [weather, time_in, roll]


def calls(*parts: dict[str, Any]) -> Deltas:
    return Deltas([{"tool_calls": [part]} for part in parts])


BOTH = [("weather", "P"), ("time_in", 1)]


@pytest.mark.parametrize(
    ("reply", "ran"),
    [
        pytest.param(
            calls(
                {"id": "a", "name": "weather", "arguments": '{"c":'},
                {"arguments": '"P"}'},
                {"id": "b", "name": "time_in", "arguments": '{"z":1}'},
            ),
            BOTH,
            id="B26: parallel calls without index",
        ),
        pytest.param(
            calls(
                {"index": 0, "id": "a", "name": "weather", "arguments": '{"c":"P"}'},
                {"index": 0, "id": "b", "name": "time_in", "arguments": '{"z":1}'},
            ),
            BOTH,
            id="B27: every call has index 0",
        ),
        pytest.param(
            calls(
                {"index": 0, "id": "a", "name": "weather", "arguments": '{"c":"P"}'},
                {"index": 0, "id": "b", "name": "weather", "arguments": '{"c":"Q"}'},
            ),
            [("weather", "P"), ("weather", "Q")],
            id="B27: one tool twice",
        ),
        pytest.param(
            calls(
                {"index": 0, "id": "a", "name": "weather", "arguments": '{"c"'},
                {"index": 0, "id": "a", "name": "weather", "arguments": ':"P"}'},
            ),
            [("weather", "P")],
            id="B29: name repeated in every delta",
        ),
        pytest.param(
            calls(
                {"index": 0, "id": "a", "name": "time_"},
                {"index": 0, "name": "in", "arguments": '{"z":1}'},
            ),
            [("time_in", 1)],
            id="B29: name really split",
        ),
        pytest.param(
            Deltas(
                [
                    {"content": ""},
                    {"content": "\n"},
                    {"tool_calls": [{"index": 0, "id": "a", "name": "roll", "arguments": "{}"}]},
                    {"finish_reason": "stop"},
                ]
            ),
            [("roll", None)],
            id="B34: empty text before the call",
        ),
        pytest.param(
            RawBytes(
                sse_bytes(
                    calls(
                        {"index": 0, "id": "a", "name": "weather", "arguments": '{"c":"杭州 🌍"}'}
                    )
                )
            ),
            [("weather", "杭州 🌍")],
            id="B36: one byte per write",
        ),
    ],
)
async def test_calls_are_those_that_were_meant(
    set_stage: SetStage, reply: Any, ran: list[tuple[str, Any]]
) -> None:
    tools = Tools()
    stage = set_stage([reply, "Done."], tools.all(), spec=STREAMED, synthesis="never")

    answer = await stage.answer("Go.")

    assert (sorted(tools.calls), answer) == (sorted(ran), "Done.")
    assert stage.endpoint.rejected == []


@pytest.mark.parametrize("finish_reason", ["length", "tool_calls"])
async def test_a_call_that_was_cut_in_a_stream_never_runs(
    set_stage: SetStage, finish_reason: str
) -> None:
    """B16, as a stream: what came of the arguments looks like a whole object once mended."""
    tools = Tools()
    cut = {"index": 0, "id": "1", "name": "weather", "arguments": '{"c": "Par'}
    reply = Deltas([{"tool_calls": [cut]}], finish_reason=finish_reason)
    stage = set_stage([reply, "Giving up."], tools.all(), spec=STREAMED, synthesis="never")

    assert (await stage.answer("Go."), tools.calls) == ("Giving up.", [])

    role, observation = stage.sent(1)[-1]
    assert role == "tool"
    assert "cut off" in observation or "not valid JSON" in observation
    assert stage.endpoint.rejected == []


USAGE = {"prompt_tokens": 3, "completion_tokens": 1}
EMPTY_CHOICES = Deltas(
    [
        {"choices": []},
        {"content": "Hi"},
        {"finish_reason": "stop"},
        {"choices": [], "usage": USAGE},
    ],
    usage=None,
)


async def test_pieces_without_choices_hold_the_usage_or_nothing(set_stage: SetStage) -> None:
    """B31."""
    stage = set_stage([EMPTY_CHOICES], spec=STREAMED)

    done = (await stage.ask("Hello?"))[-2]["data"]

    assert done["answer"] == "Hi"
    assert (done["usage"]["input_tokens"], done["usage"]["output_tokens"]) == (3, 1)


HALF = Deltas([{"content": "The result is "}], finish_reason=None, done=False)


async def test_half_a_reply_is_asked_for_again(set_stage: SetStage) -> None:
    """B33, in the loop."""
    stage = set_stage([HALF, "The result is 42."], spec=STREAMED, max_retries=1)

    assert await stage.answer("Sum?") == "The result is 42."


async def test_half_a_synthesis_is_no_answer(set_stage: SetStage) -> None:
    """B33, in the answer that is streamed: shown text is taken back, never left as it is."""
    call = {"tool_calls": [{"id": "a", "name": "roll", "arguments": "{}"}]}
    stage = set_stage([call, "You rolled 4.", HALF, HALF], Tools().all())

    events = await stage.ask("Roll.")

    statuses = [e["data"]["status"] for e in events if e["event"] == "answer"]
    assert "reset" in statuses
    assert events[-2]["data"]["answer"] == "You rolled 4."


async def test_a_gateway_that_says_done_and_no_reason_is_believed(set_stage: SetStage) -> None:
    """B33, the exception."""
    whole = Deltas([{"content": "42."}], finish_reason=None)
    stage = set_stage([whole], spec=STREAMED)

    assert await stage.answer("Sum?") == "42."


async def test_characters_split_over_packets_reach_the_reader_whole(set_stage: SetStage) -> None:
    """B36, in the answer that is streamed."""
    call = {"tool_calls": [{"id": "a", "name": "roll", "arguments": "{}"}]}
    stream = RawBytes(sse_bytes(Deltas([{"content": "杭州 🌍"}, {"content": "!"}])))
    stage = set_stage([call, "draft", stream], Tools().all())

    events = await stage.ask("Roll.")

    deltas = [e["data"]["content"] for e in events if e["data"].get("status") == "delta"]
    assert "".join(deltas) == events[-2]["data"]["answer"] == "杭州 🌍!"


async def test_an_empty_piece_opens_no_answer(set_stage: SetStage) -> None:
    """B34, in the events: one answer, and it is not empty."""
    roll = {"tool_calls": [{"index": 0, "id": "a", "name": "roll", "arguments": "{}"}]}
    reply = Deltas([{"content": ""}, {"content": "\n"}, roll, {"finish_reason": "stop"}])
    stage = set_stage([reply, "You rolled 4"], Tools().all(), spec=STREAMED, synthesis="never")

    events = await stage.ask("Roll.")

    answers = [event["data"] for event in events if event["event"] == "answer"]
    assert answers == [
        {"status": "start"},
        {"status": "delta", "content": "You rolled 4"},
        {"status": "done"},
    ]
