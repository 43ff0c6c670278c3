"""Each request starts with the bytes of the one before, so that prompt caches hit."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import orjson
import pytest

from graph_agent.testing import Gate, Held
from graph_agent.testing.recorded import Recorded

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]


def look(number: int) -> str:
    """Look.

    Args:
        number: Which.
    """
    return f"서울 {number}"


def prefix(request: Recorded) -> bytes:
    """The bytes of a request's messages, less the bracket that ends them."""
    raw: bytes = orjson.dumps(request.body["messages"])
    assert raw in request.raw
    return raw[:-1]


async def test_a_request_starts_with_the_one_before(set_stage: SetStage, speech: Any) -> None:
    calls = [speech.calls(("look", {"number": n}), ("look", {"number": -n})) for n in range(1, 5)]
    stage = set_stage([*calls, speech.final("ok")], [look], synthesis="never")

    await stage.ask("Look.")

    requests = [prefix(request) for request in stage.endpoint.requests]
    assert len(requests) == 5
    assert [
        number
        for number, (before, after) in enumerate(pairwise(requests))
        if not after.startswith(before)
    ] == []


async def test_tools_and_parameters_stay_the_same(set_stage: SetStage, speech: Any) -> None:
    calls = [speech.calls(("look", {"number": n})) for n in range(3)]
    stage = set_stage([*calls, speech.final("ok")], [look], synthesis="never")

    await stage.ask("Look.")

    bodies = [request.body | {"messages": []} for request in stage.endpoint.requests]
    assert bodies == [bodies[0]] * 4


async def test_an_unreadable_reply_and_an_interrupt_only_add(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    call = speech.calls(("look", {"number": 1}))
    unreadable = [] if speech.mode == "native" else ["so what"]
    stage = set_stage(
        [*unreadable, call, Held(gate, speech.final("early")), speech.final("ok")],
        [look],
        synthesis="never",
    )

    events = stage.agent.stream("Look.", thread_id="t")
    seen = [await anext(events)]
    async for event in events:
        seen.append(event)
        if event["data"].get("status") == "start" and event["data"].get("iteration") == 2 + len(
            unreadable
        ):
            await gate.reached()
            await stage.agent.interrupt("t", "And quick.")
            gate.open()

    requests = [prefix(request) for request in stage.endpoint.requests]
    assert seen[-2]["data"]["answer"] == "ok"
    assert b"And quick." in requests[-1]
    assert all(b.startswith(a) for a, b in pairwise(requests))
