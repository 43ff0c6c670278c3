"""Group F: what a prompt may take, and what happens where that was wrong."""

import json
from collections.abc import Callable
from typing import Any, cast

import pytest
from langchain_core.messages import HumanMessage

from graph_agent import ModelRegistry, build_graph
from graph_agent.models.spec import ModelSpec
from graph_agent.state import AgentInput
from graph_agent.testing import HttpError, Silence, StrictEndpoint

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
LINE = "Whoever misses the morning train has to wait for an hour on platform four.\n"
SMALL = {"context_size": 5_000, "max_output_tokens": 1_000}
"""The smallest budget there is: 4,000 tokens."""


async def test_many_tools_are_in_the_budget(
    set_stage: SetStage, windowed: Any, speech: Any
) -> None:
    """B63."""

    def tool(number: int) -> Callable[[str], str]:
        def look(place: str) -> str:
            return f"{place}: {LINE * 30}"

        look.__name__ = f"look_{number}"
        look.__doc__ = (
            f"Look at shelf number {number} of the library and say which books stand there, in the "
            f"order in which they stand, from the left to the right.\n\nArgs:\n    place: Where."
        )
        return look

    replies = [speech.calls((f"look_{n}", {"place": f"shelf {n}"})) for n in range(8)]
    model = windowed([*replies, speech.final("done")], 7_000)
    stage = set_stage(
        model,
        [tool(number) for number in range(60)],
        context_size=8_000,
        max_output_tokens=1_000,
        tool_selection_threshold=60,
        synthesis="never",
    )

    assert await stage.answer("word " * 2_000) == "done"

    assert model.refused == []


@pytest.mark.parametrize(
    ("system", "lines"),
    [
        pytest.param("You read pages.", 44, id="B66"),
        pytest.param("You read pages. " * 750, 44, id="B66-no room for a target"),
        pytest.param("You read pages.", 110, id="B66-the kept tail is above the trigger"),
    ],
)
async def test_a_compaction_lasts_for_some_steps(
    set_stage: SetStage,
    windowed: Any,
    speech: Any,
    system: str,
    lines: int,
    reader: Any,
    read_calls: Any,
) -> None:
    model = windowed([*read_calls(20), speech.final("done")], 4_000)
    stage = set_stage(model, [reader(lines)], system_prompt=system, **SMALL)

    assert await stage.answer("What do the pages say?") == "The answer."

    assert model.refused == []
    summaries = model.of("summary")
    assert len([asked.replies for asked in summaries]) <= 20 / 3
    # Each sums up something new, never the summary before it alone.
    assert [asked.text for asked in summaries if "read({" not in asked.text] == []


@pytest.mark.parametrize(
    ("summary", "kept"),
    [
        pytest.param("They talked.", "They talked.", id="B68"),
        pytest.param(HttpError(status=500), "", id="B68-fails"),
        pytest.param(HttpError(status=400, code="context_length_exceeded"), "", id="B68-refuses"),
        pytest.param("", "", id="B68-says nothing"),
        pytest.param(Silence(after=None), "", id="B68-times out"),
    ],
)
async def test_a_summariser_with_a_smaller_window(
    set_stage: SetStage, windowed: Any, speech: Any, summary: Any, kept: str
) -> None:
    """A history of 9,000 tokens; the model takes 4,000, and who sums up 1,500."""
    fast, model = windowed([], 1_500, summary=summary), windowed([speech.final("ok")] * 13, 4_000)
    stage = set_stage(model, **SMALL)
    with StrictEndpoint(fast) as endpoint:
        spec = ModelSpec(
            model="small", base_url=endpoint.base_url, context_size=2_000, max_output_tokens=500
        )
        settings = stage.agent.settings.model_copy(update={"model_timeout": 0.2})
        small = ModelRegistry({"small": spec}, settings=settings, environ={})
        agent = type(stage.agent)(
            stage.agent.model,
            fast_model=small.get("small"),
            **stage.agent.settings.model_dump(),
        )
        async with agent:
            for turn in range(12):
                await agent.run(f"Turn {turn}. {LINE * 46}", thread_id="t")
            result = await agent.run("q", thread_id="t")
        await small.aclose()

    assert result.answer == "ok"
    assert (model.refused, fast.refused) == ([], [])
    assert len(fast.asked) > 0
    last = model.of("loop")[-1]
    assert (kept in last.text, "Turn 11. Whoever" in last.text) == (True, True)


@pytest.mark.parametrize("at_once", [1, 3], ids=["B69", "B69-three of them"])
async def test_one_result_larger_than_the_window_keeps_head_and_tail(
    set_stage: SetStage, windowed: Any, speech: Any, at_once: int
) -> None:
    def read(page: int) -> str:
        """Read.

        Args:
            page: Which.
        """
        return f"HEAD {page}\n{LINE * 3_750}TAIL {page}"

    several = speech.calls(*(("read", {"page": page}) for page in range(at_once)))
    model = windowed([several, speech.final("ok")], 4_000, synthesis="ok")
    stage = set_stage(model, [read], **SMALL)

    assert await stage.answer("q") == "ok"

    assert model.refused == []
    shown = model.of("loop")[-1].text
    for page in range(at_once):
        assert f"HEAD {page}" in shown
        assert f"TAIL {page}" in shown
    cut = [int(words.split("[")[-1]) for words in shown.split(" tokens cut here]")[:-1]]
    assert [55_000 < tokens < 66_000 for tokens in cut] == [True] * at_once


async def test_a_question_larger_than_the_window_keeps_head_and_tail(
    set_stage: SetStage, windowed: Any, speech: Any, reader: Any, read_calls: Any
) -> None:
    """B69: the user's message, with a result as large."""
    model = windowed([*read_calls(3), speech.final("ok")], 4_000, synthesis="ok")
    stage = set_stage(model, [reader(3_750)], **SMALL)

    assert await stage.answer(f"HEAD\n{LINE * 3_750}TAIL") == "ok"

    assert model.refused == []
    for asked in [*model.of("loop"), *model.of("synthesis")]:
        assert "HEAD" in asked.text
        assert "TAIL" in asked.text


@pytest.mark.parametrize("hosted", [False, True], ids=["B71", "B71-LangGraph's messages"])
async def test_inner_texts_are_no_answer(
    set_stage: SetStage, windowed: Any, speech: Any, hosted: bool, reader: Any, read_calls: Any
) -> None:
    def think(about: str) -> str:
        """Think.

        Args:
            about: What.
        """
        return about

    model = windowed(
        [*read_calls(40), speech.final("Hello")],
        4_000,
        selection=json.dumps({"tools": ["read"], "why": "INTERNAL-PICK"}),
        summary="INTERNAL-SUMMARY",
        synthesis="Hello",
    )
    tools: list[Any] = [reader(88), think]
    settings: dict[str, Any] = {"tool_selection_threshold": 1, **SMALL}
    stage = set_stage(model, tools, **settings)

    if hosted:
        native = speech.mode == "native"
        graph = build_graph(
            stage.agent.model,
            tools,
            use_native_tools=native,
            completion_check_min_tools=0,
            self_reflection_interval=0,
            **settings,
        )
        asked = AgentInput(messages=[HumanMessage("q")])
        parts = graph.astream(asked, stream_mode="messages")
        told = "".join(
            [part[0].text async for part in cast("Any", parts) if part[0].type != "tool"]
        )
        assert "Hello" in told
    else:
        events = await stage.ask("q")
        told = json.dumps(events)
        answer = [e["data"].get("content", "") for e in events if e["event"] == "answer"]
        assert "".join(answer) == "Hello"

    assert "INTERNAL" not in told
    assert len(model.of("selection")) == 1
    assert len(model.of("summary")) > 0
