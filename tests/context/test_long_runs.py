"""Runs far longer than the window, before an endpoint that refuses what is too long."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from graph_agent import ModelRegistry, ReActAgent, Settings
from graph_agent.models.spec import ModelSpec
from graph_agent.prompts import SUMMARIZE, SYNTHESIS_SYSTEM
from graph_agent.testing import StrictEndpoint

pytestmark = pytest.mark.anyio

ITERATIONS = 60
WINDOW = 8_192
REPLY = 1_024
FACT = "The code of page three is 7319."
SUMMARY = "Pages were read; none said what is asked. "
PAGES = {
    "English": "Whoever misses the morning train has to wait for an hour on platform four. " * 27,
    "Korean": "아침 기차를 놓친 사람은 4번 승강장에서 한 시간을 기다려야 합니다. " * 25,
    "code": "    for number, item in enumerate(items):\n        found[item.name] = number + 1\n"
    * 25,
}
QUESTIONS = {
    "English": "What is the code?",
    "Korean": "코드는 무엇입니까?",
    "code": "What does `found` hold?",
}


class Endless:
    """Calls the tool again and again; sums up and answers when asked to."""

    def __init__(self, speech: Any, summary: Any = SUMMARY) -> None:
        self.speech, self.summary = speech, summary
        self.pages = 0
        self.summaries: list[int] = []

    async def __call__(self, body: dict[str, Any]) -> Any:
        system = body["messages"][0]["content"]
        if system in SUMMARIZE.values():
            self.summaries.append(self.pages)
            return self.summary
        if system == SYNTHESIS_SYSTEM:
            return "It is 7319." if FACT in body["messages"][-1]["content"] else "Unknown."
        self.pages += 1
        if self.pages > ITERATIONS:
            return self.speech.final("Done.")
        return self.speech.calls(("read", {"page": self.pages}))


@pytest.fixture
def long_run(speech: Any, true_tokens: Callable[..., int]) -> Callable[..., Any]:
    """Run 60 iterations in a window of 8,192 tokens that the endpoint holds to."""

    async def run(
        page: Callable[[int], str], question: str, model: Endless, **settings: Any
    ) -> tuple[list[Any], StrictEndpoint]:
        def read(page: int) -> str:
            """Read a page.

            Args:
                page: Its number.
            """
            return make(page)

        make = page
        with StrictEndpoint(model, context_limit=WINDOW - REPLY, count=true_tokens) as endpoint:
            spec = ModelSpec(
                model="fake",
                base_url=endpoint.base_url,
                context_size=WINDOW,
                max_output_tokens=REPLY,
            )
            chosen: dict[str, Any] = {
                "database": "memory:",
                "max_iterations": ITERATIONS + 1,
                "max_retries": 0,
                "use_native_tools": speech.mode == "native",
                "tool_concurrency": 50,
                **settings,
            }
            models = ModelRegistry({"fake": spec}, settings=Settings(**chosen))
            async with ReActAgent("fake", [read], models=models, **chosen) as agent:
                events = [event async for event in agent.stream(question)]
        return events, endpoint

    return run


def asked(endpoint: StrictEndpoint) -> list[list[dict[str, Any]]]:
    """The messages of each request of the loop."""
    bodies = (request.body["messages"] for request in endpoint.requests)
    inner = {*SUMMARIZE.values(), SYNTHESIS_SYSTEM}
    return [messages for messages in bodies if messages[0]["content"] not in inner]


@pytest.mark.parametrize("kind", PAGES)
async def test_sixty_iterations_fit_a_small_window(long_run: Any, speech: Any, kind: str) -> None:
    model = Endless(speech)

    def page(number: int) -> str:
        return FACT if number == 3 else f"{number} {PAGES[kind]}"

    events, endpoint = await long_run(page, QUESTIONS[kind], model)

    assert events[-2]["data"]["answer"] == "It is 7319."
    assert endpoint.rejected == []
    questions = [
        m for m in asked(endpoint) if not any(QUESTIONS[kind] in str(e["content"]) for e in m)
    ]
    assert questions == []
    assert 0 < len(set(model.summaries)) <= ITERATIONS / 10
    compactions = [event["data"] for event in events if event["event"] == "compact"]
    assert len(compactions) < ITERATIONS / 3
    used = events[-2]["data"]["usage"]["by_purpose"]["compaction"]["calls"]
    assert used == len(model.summaries)


@pytest.mark.parametrize(
    "summary",
    [
        pytest.param("", id="nothing"),
        pytest.param("far too much " * 4_000, id="too much"),
        pytest.param("again and again " * 800, id="a loop"),
    ],
)
async def test_a_summariser_that_misbehaves_ends_no_run(
    long_run: Any, speech: Any, summary: str
) -> None:
    events, endpoint = await long_run(
        lambda number: f"{number} {PAGES['English']}", "What?", Endless(speech, summary)
    )

    assert events[-2]["data"]["stop_reason"] == "final"
    assert endpoint.rejected == []


@pytest.mark.parametrize("policy", ["trim", "summarize"])
async def test_plain_policies_fit_too(long_run: Any, speech: Any, policy: str) -> None:
    events, endpoint = await long_run(
        lambda number: f"{number} {PAGES['English']}", "What?", Endless(speech), compaction=policy
    )

    assert events[-2]["data"]["stop_reason"] == "final"
    assert endpoint.rejected == []
    assert all("What?" in json.dumps(messages) for messages in asked(endpoint))


async def test_results_of_every_size_fit(long_run: Any, speech: Any) -> None:
    sizes = [1, 100, 5_000_000, 10_000, 0, 300_000]

    events, endpoint = await long_run(
        lambda number: "HEAD" + "word " * (sizes[number % 6] // 5) + "TAIL",
        "What?",
        Endless(speech),
    )

    assert events[-2]["data"]["stop_reason"] == "final"
    assert endpoint.rejected == []


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
