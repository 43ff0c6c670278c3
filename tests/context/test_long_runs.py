"""Runs far longer than the window, before an endpoint that refuses what is too long."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from graph_agent import ModelRegistry, ReActAgent
from graph_agent.models.spec import ModelSpec
from graph_agent.prompts import SUMMARIZE
from graph_agent.testing import StrictEndpoint

pytestmark = pytest.mark.anyio

WINDOW = 8_192
REPLY = 1_024
FACT = "The code is 7319."
PAGES = {
    "English": "Whoever misses the morning train has to wait for an hour on platform four. " * 27,
    "Korean": "아침 기차를 놓친 사람은 4번 승강장에서 한 시간을 기다려야 합니다. " * 25,
    "code": "    for number, item in enumerate(items):\n        found[item.name] = number + 1\n"
    * 25,
}
"""Two kilobytes each."""
QUESTIONS = {
    "English": "What is the code?",
    "Korean": "코드는 무엇입니까?",
    "code": "What does `found` hold?",
}
slow = pytest.mark.slow


def with_fact(text: str, where: float = 0.2) -> Callable[[int], str]:
    """Pages of one text; the third holds the fact, at that share of its length.

    So far from the head only a summary can keep it: the synthesis reads less of so many results.
    """
    at = int(len(text) * where)

    def page(number: int) -> str:
        return f"{number} {text[:at]}{FACT}{text[at:]}" if number == 3 else f"{number} {text}"

    return page


@pytest.mark.parametrize(
    ("kind", "pages"),
    [
        ("English", 120),
        ("Korean", 500),
        ("code", 120),
        pytest.param("English", 500, marks=slow),
        pytest.param("code", 500, marks=slow),
    ],
)
async def test_a_run_goes_on_far_beyond_the_window(long_run: Any, kind: str, pages: int) -> None:
    run = await long_run(with_fact(PAGES[kind]), QUESTIONS[kind], pages=pages, fact=FACT)

    run.check(QUESTIONS[kind])
    assert (run.done["stop_reason"], run.done["iterations"]) == ("final", pages + 1)
    assert run.done["answer"] == FACT
    assert min(run.pages_shown(-1)) > 3
    summaries = sorted(set(run.model.summaries))
    assert 0 < len(summaries) <= pages / 10
    assert min(b - a for a, b in pairwise(summaries)) >= 10
    assert sum(run.compacted) < pages / 3
    after = [size for size, compacted in zip(run.sizes, run.compacted, strict=True) if compacted]
    assert max(after) < 0.62 * (WINDOW - REPLY)
    used = run.done["usage"]["by_purpose"]["compaction"]["calls"]
    assert used == len(run.model.summaries)


@pytest.mark.parametrize("where", [0.0, 0.5, 1.0], ids=["head", "middle", "tail"])
async def test_a_summary_reads_the_whole_of_a_result(long_run: Any, where: float) -> None:
    run = await long_run(with_fact(PAGES["English"], where), "What code?", pages=60, fact=FACT)

    run.check("What code?")
    assert run.done["answer"] == FACT


async def test_each_request_extends_the_one_before_but_after_a_compaction(long_run: Any) -> None:
    """R6.8."""
    said = {5: "Be thorough.", 15: "Mind the dates.", 25: "And the names."}

    async def add(agent: ReActAgent, event: Any) -> None:
        called = event["data"].get("type") == "iteration" and event["data"]["status"] == "start"
        if called and (words := said.get(event["data"]["iteration"])):
            await agent.interrupt("thread", words)

    run = await long_run(
        lambda page: f"{page} " + PAGES["English"] * (6 if page % 9 == 0 else 1),
        "What code?",
        pages=40,
        during=add,
    )

    run.check("What code?")
    assert 1 < sum(run.compacted) < 20
    last = json.dumps(run.asked[-1]["messages"])
    assert [words for words in said.values() if words not in last] == []


async def test_the_guards_of_a_run_only_add(long_run: Any) -> None:
    """As it is set by default: with reminders, and a check of the answer."""
    run = await long_run(
        with_fact(PAGES["English"]),
        "What is the code?",
        pages=60,
        fact=FACT,
        settings={
            "max_iterations": 80,
            "self_reflection_interval": 6,
            "completion_check_min_tools": 3,
        },
    )

    run.check("What is the code?")
    assert (run.done["answer"], run.done["iterations"]) == (FACT, 62)


@pytest.mark.parametrize("policy", ["trim", "summarize"])
async def test_plain_policies_fit_too(long_run: Any, policy: str) -> None:
    run = await long_run(
        lambda page: f"{page} {PAGES['English']}",
        "What?",
        pages=60,
        settings={"compaction": policy},
    )

    run.check("What?")
    assert run.done["stop_reason"] == "final"
    assert (run.model.summaries == []) == (policy == "trim")


async def test_a_turn_goes_on_from_the_turns_before(
    speech: Any, true_tokens: Callable[..., int]
) -> None:
    texts = [f"{number} {PAGES['English'] * 2}" for number in range(12)]

    async def reply(body: dict[str, Any]) -> str:
        summing_up = body["messages"][0]["content"] in SUMMARIZE.values()
        return "They talked." if summing_up else str(speech.final("ok"))

    with StrictEndpoint(reply, context_limit=WINDOW - REPLY, count=true_tokens) as endpoint:
        spec = ModelSpec(
            model="fake", base_url=endpoint.base_url, context_size=WINDOW, max_output_tokens=REPLY
        )
        models = ModelRegistry({"fake": spec})
        native = speech.mode == "native"
        async with ReActAgent(
            "fake", models=models, database="memory:", use_native_tools=native
        ) as agent:
            for text in texts:
                await agent.run(text, thread_id="t")

    assert endpoint.rejected == []
    assert texts[-1] in endpoint.requests[-1].body["messages"][-1]["content"]
    assert "They talked." in json.dumps(endpoint.requests[-1].body["messages"])
