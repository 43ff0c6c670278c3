"""Group C, where the prompt is cut: calls and their results stay together, wherever that falls."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
LINE = "Much ado about nothing, and more.\n"
SMALL = {"context_size": 4_800, "max_output_tokens": 800, "tool_concurrency": 50}


def read(page: int, lines: int = 44) -> str:
    """Read a page.

    Args:
        page: Its number.
        lines: How long it is.
    """
    return f"{page} {LINE * lines}"


def call(speech: Any, *pages: int, lines: int = 44) -> Any:
    return speech.calls(*(("read", {"page": page, "lines": lines}) for page in pages))


def unpaired(messages: list[dict[str, Any]]) -> list[Any]:
    """Where the pages of a reply's calls are not those of the results right behind it."""
    called: list[str] = []
    found: list[list[str]] = [[]]
    wanted: list[list[str]] = [[]]
    for message in messages:
        content = str(message["content"])
        if message["role"] == "assistant":
            called = re.findall(r'"page\\?": ?(\d+)', json.dumps(message).replace("\\", ""))
            wanted.append(called)
            found.append([])
        elif message["role"] == "tool":
            found[-1].append(content.split()[0])
        elif message["role"] == "user":
            found[-1] += [told.split()[0] for told in content.split("Observation: ")[1:]]
    return [pair for pair in zip(wanted, found, strict=True) if pair[0] != pair[1]]


@pytest.mark.parametrize(
    ("policy", "lines", "profile"),
    [
        ("auto", 20, "openai"),
        ("auto", 44, "mistral"),
        ("auto", 71, "qwen"),
        ("auto", 300, "openai"),
        ("summarize", 44, "qwen"),
        ("summarize", 300, "mistral"),
        ("trim", 20, "mistral"),
        ("trim", 71, "openai"),
    ],
)
async def test_no_cut_falls_between_a_call_and_its_results(
    set_stage: SetStage, windowed: Any, speech: Any, policy: str, profile: str, lines: int
) -> None:
    """B39: thirty calls, then several at once, with a message of the user amid both."""
    replies = [call(speech, page, lines=lines + page % 3) for page in range(1, 31)]
    replies += [call(speech, page, page + 1, page + 2, lines=lines) for page in range(31, 61, 3)]
    model = windowed([*replies, speech.final("done")], 4_000)
    stage = set_stage(lambda body: asked(body), [read], profile=profile, compaction=policy, **SMALL)

    async def asked(body: dict[str, Any]) -> Any:
        if len(model.of("loop")) in (12, 35):
            await stage.agent.interrupt("thread", "Go on.")
        return await model(body)

    events = await stage.ask("q")

    assert (events[-2]["data"]["answer"], model.refused) == ("The answer.", [])
    assert [event["event"] for event in events].count("compact") > 1
    assert stage.endpoint.rejected == []
    assert [
        pair for request in model.of("loop") for pair in unpaired(request.body["messages"])
    ] == []
    assert [r for r in model.of("loop") if r.body["messages"][1]["content"][:1] != "q"] == []


@pytest.mark.parametrize("policy", ["auto", "summarize", "trim"])
async def test_a_cut_that_lies_in_an_earlier_run(
    set_stage: SetStage, windowed: Any, speech: Any, policy: str
) -> None:
    """B39: the next question comes where the run before it was cut."""
    replies = [
        reply
        for turn in range(5)
        for reply in (*(call(speech, 10 * turn + n, 50 + n) for n in range(7)), speech.final("ok"))
    ]
    model = windowed(replies, 4_000)
    stage = set_stage(model, [read], compaction=policy, **SMALL)

    answers = [await stage.answer(f"Question {turn}?") for turn in range(5)]

    assert (answers, model.refused) == (["The answer."] * 5, [])
    assert [
        pair for request in model.of("loop") for pair in unpaired(request.body["messages"])
    ] == []
    assert [
        number
        for number, request in enumerate(model.of("loop"))
        if f"Question {number // 8}?" not in request.text
    ] == []
