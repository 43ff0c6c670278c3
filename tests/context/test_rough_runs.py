"""Long runs with tools, users and summarisers that make it hard to stay within the window."""

import asyncio
import json
from typing import Any

import pytest

from graph_agent import ReActAgent
from graph_agent.testing import HttpError

pytestmark = pytest.mark.anyio

PAGE = "Whoever misses the morning train has to wait for an hour on platform four. " * 27
KINDS = [
    "word ",
    "서울역 ",
    "a",
    "8f3Kq+Zx0/Wm",
    "31415926535",
    "🙂👩‍👩‍👧",
    '{"id":17,"ok":null},',
    "\t\n",
    "ไทย",
    "ελλάδα ",
]
SIZES = [1, 30, 900, 2_000, 5_000_000, 15_000, 0, 120_000, 1_000_000]
"""Bytes, about."""


def of_size(page: int) -> str:
    """Sizes and kinds of text go round at different speeds; the largest comes but a few times."""
    kind, size = KINDS[page % len(KINDS)], SIZES[page % len(SIZES)]
    size = size if page < 30 or size < 1_000_000 else 50_000
    text = f"{page} " + kind * (size // len(kind.encode()))
    return text if size > 1 else str(page)


async def test_results_of_every_size_fit(long_run: Any) -> None:
    run = await long_run(of_size, "What?", pages=90)

    run.check("What?")
    assert run.done["stop_reason"] == "final"


@pytest.mark.parametrize(
    ("times", "replies"), [pytest.param(1, 8, id="2 kB"), pytest.param(50, 3, id="100 kB")]
)
async def test_fifty_results_of_one_reply_fit(long_run: Any, times: int, replies: int) -> None:
    run = await long_run(lambda page: f"{page} {PAGE * times}", "What?", pages=replies, at_once=50)

    run.check("What?")
    assert run.done["stop_reason"] == "final"
    shown = json.dumps(run.asked[-1]["messages"])
    newest = range(50 * replies - 49, 50 * replies + 1)
    assert [page for page in newest if f"{page} Who" not in shown] == []


@pytest.mark.parametrize("words", [5, 150, 2_000], ids=["short", "half a page", "ten pages"])
async def test_thirty_interrupts_fit_and_the_newest_stay(long_run: Any, words: int) -> None:
    def interrupt(number: int) -> str:
        return f"<{number}> " + "please " * words

    async def add(agent: ReActAgent, event: Any) -> None:
        data = event["data"]
        called = data.get("type") == "iteration" and data["status"] == "start"
        if called and data["tool_args"]["page"] <= 30:
            await agent.interrupt("thread", interrupt(data["tool_args"]["page"]))
            added[data["tool_args"]["page"]].set()

    async def page_of(page: int) -> str:
        # Each is taken in by itself: two that come at once would be one message.
        if page <= 30:
            await added[page].wait()
        return f"{page} {PAGE}"

    added = {page: asyncio.Event() for page in range(1, 31)}
    run = await long_run(page_of, "What code?", pages=70, during=add)

    run.check("What code?")
    assert run.done["stop_reason"] == "final"
    last = "\n".join(str(message["content"]) for message in run.asked[-1]["messages"])
    shown = [number for number in range(1, 31) if f"<{number}> please" in last]
    assert shown == list(range(31 - len(shown), 31))
    half = (8_192 - 1_024) / 2
    assert len(shown) * min(words, 1_700) <= half
    assert len(shown) == 30 if words == 5 else 1 <= len(shown) < 30


@pytest.mark.parametrize(
    "sums_up",
    [
        pytest.param(lambda _: HttpError(status=500), id="fails"),
        pytest.param(lambda _: "", id="nothing"),
        pytest.param(lambda _: "far too much " * 4_000, id="too much"),
        pytest.param(lambda told: told, id="its input"),
        pytest.param(lambda _: "again and again " * 800, id="a loop"),
    ],
)
async def test_a_summariser_that_misbehaves_ends_no_run(long_run: Any, sums_up: Any) -> None:
    run = await long_run(lambda page: f"{page} {PAGE}", "What?", pages=90, sums_up=sums_up)

    run.check("What?")
    assert run.done["stop_reason"] == "final"
    assert 0 < len(set(run.model.summaries)) <= 90 / 5
    assert all(len(body["messages"]) > 4 for body in run.asked[2:])


async def test_what_was_summed_up_outlives_a_summary_that_fails(long_run: Any) -> None:
    fact, told = "The code is 7319.", []

    def sums_up(text: str) -> Any:
        told.append(text)
        return f"So far: {fact}" if len(told) == 1 else HttpError(status=500)

    run = await long_run(
        lambda page: f"{page} {fact if page == 1 else ''} {PAGE}",
        "What?",
        pages=90,
        fact=fact,
        sums_up=sums_up,
    )

    run.check("What?")
    assert len(told) > 2
    assert fact in json.dumps(run.asked[-1]["messages"])


@pytest.mark.parametrize("counts", [0.5, 1.3, 1.9])
async def test_an_endpoint_that_counts_otherwise_refuses_nothing(
    long_run: Any, counts: float
) -> None:
    run = await long_run(
        lambda page: f"{page} {PAGE * (9 if page % 7 == 0 else 1)}",
        "What?",
        pages=60,
        counts=counts,
    )

    run.check("What?")
    assert run.done["stop_reason"] == "final"
    assert sum(run.compacted) < 60 / 2
