"""Runs far longer than the window, before an endpoint that refuses what is too long."""

from contextlib import ExitStack
from typing import Any

import pytest

from graph_agent import ModelRegistry, ReActAgent
from graph_agent.models.spec import ModelSpec
from graph_agent.testing import StrictEndpoint

pytestmark = pytest.mark.anyio

ITERATIONS = 60
WINDOW = 8_192
REPLY = 1_024
QUESTION = "What do the sixty pages say?"
PAGE = "Whoever misses the morning train has to wait for an hour on platform four. " * 27
"""About 2 kB."""


def read(page: int) -> str:
    """Read a page.

    Args:
        page: Its number.
    """
    return f"{page} " + PAGE


def scripted(speech: Any) -> list[Any]:
    calls = [speech.calls(("read", {"page": page})) for page in range(ITERATIONS)]
    return [*calls, speech.final("Nothing."), "They say nothing."]


async def test_sixty_iterations_fit_a_small_window(speech: Any, true_tokens: Any) -> None:
    with StrictEndpoint(
        scripted(speech), context_limit=WINDOW - REPLY, count=true_tokens
    ) as endpoint:
        spec = ModelSpec(
            model="fake",
            base_url=endpoint.base_url,
            context_size=WINDOW,
            max_output_tokens=REPLY,
        )
        settings: dict[str, Any] = {
            "database": "memory:",
            "max_iterations": ITERATIONS + 1,
            "max_retries": 0,
            "synthesis_tool_result_chars": 50,
            "use_native_tools": speech.mode == "native",
        }
        async with ReActAgent(ModelRegistry({"fake": spec}).get("fake"), [read], **settings) as a:
            events = [event async for event in a.stream(QUESTION)]
        requests = [request.body["messages"] for request in endpoint.requests]

    assert events[-2]["data"]["answer"] == "They say nothing."
    assert endpoint.rejected == []
    assert [m for m in requests if not any(QUESTION in str(e["content"]) for e in m)] == []
    compactions = [event["data"] for event in events if event["event"] == "compact"]
    assert 0 < len(compactions) < ITERATIONS / 4
    assert all(each["kept_messages"] < each["original_messages"] for each in compactions)


async def test_a_turn_goes_on_from_the_turns_before(speech: Any, true_tokens: Any) -> None:
    texts = [f"{number} " + PAGE for number in range(12)]
    with ExitStack() as stack:
        endpoint = stack.enter_context(
            StrictEndpoint(
                [speech.final("ok")] * len(texts),
                context_limit=WINDOW - REPLY,
                count=true_tokens,
            )
        )
        spec = ModelSpec(
            model="fake", base_url=endpoint.base_url, context_size=WINDOW, max_output_tokens=REPLY
        )
        native = speech.mode == "native"
        agent = ReActAgent(
            ModelRegistry({"fake": spec}).get("fake"), database="memory:", use_native_tools=native
        )
        async with agent:
            for text in texts:
                await agent.run(text, thread_id="t")

    assert endpoint.rejected == []
    assert texts[-1] in endpoint.requests[-1].body["messages"][-1]["content"]
