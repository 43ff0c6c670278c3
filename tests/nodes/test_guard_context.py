"""The cut moves only where the prompt is over the budget, and then far enough to last."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from graph_agent.context.prompt import prompt_of
from graph_agent.context.tokens import message_tokens
from graph_agent.deps import Deps
from graph_agent.nodes import guard_context
from graph_agent.state import AgentState, Turn

pytestmark = pytest.mark.anyio

MakeDeps = Callable[..., Deps]
WINDOW = {"context_size": 5_000, "max_output_tokens": 1_000}


def thread(turns: int) -> AgentState:
    messages: list[Any] = [AIMessage("word " * 390) for _ in range(turns)]
    turn = Turn(run_id="r", start=turns, started_at=0.0)
    return AgentState(messages=[*messages, HumanMessage("q")], turn=turn)


async def test_a_prompt_that_fits_is_left_alone(make_deps: MakeDeps, stagehand: Any) -> None:
    update = await guard_context(thread(5), stagehand.runtime, deps=make_deps(known=WINDOW))

    assert (update, stagehand.events) == ({}, [])


async def test_a_prompt_over_the_budget_is_cut_down_to_the_target(
    make_deps: MakeDeps, stagehand: Any
) -> None:
    deps = make_deps(*["They talked."] * 9, known=WINDOW, compaction_target=0.5)
    state = thread(12)

    update = await guard_context(state, stagehand.runtime, deps=deps)

    state.cut, state.summary = update["cut"], update["summary"]
    assert state.summary == "They talked."
    chat: Any = deps.model.chat
    assert update["usage"]["by_purpose"]["compaction"]["calls"] == len(chat.asked)
    view = prompt_of(state, deps.caps).messages
    assert deps.protocol(state).overhead() + sum(map(message_tokens, view)) <= 2_000
    assert [event["data"] for event in stagehand.events] == [
        {"original_messages": 13, "kept_messages": len(view)}
    ]
    assert await guard_context(state, stagehand.runtime, deps=deps) == {}


async def test_what_may_not_be_left_out_is_shown_shorter(
    make_deps: MakeDeps, stagehand: Any
) -> None:
    deps = make_deps(known=WINDOW)
    calls = [{"name": "f", "args": {}, "id": f"c{n}", "type": "tool_call"} for n in range(2)]
    results = [ToolMessage("word " * 5_000, tool_call_id=call["id"]) for call in calls]
    said = [HumanMessage("word " * 5_000), HumanMessage("word " * 5_000)]
    turn = Turn(run_id="r", start=0, started_at=0.0)
    state = AgentState(messages=[*said, AIMessage("", tool_calls=calls), *results], turn=turn)

    update = await guard_context(state, stagehand.runtime, deps=deps)

    assert update == {"cut": 2, "shrunk": 2, "summary": "", "cap": 666}
    shown = prompt_of(replace(state, cut=2, shrunk=2, cap=666), deps.caps)
    assert deps.protocol(state).overhead() + shown.tokens <= deps.budget
    assert [event["event"] for event in stagehand.events] == ["compact"]


async def test_where_nothing_can_be_cut_nothing_is_told(
    make_deps: MakeDeps, stagehand: Any
) -> None:
    deps = make_deps(known=WINDOW)
    turn = Turn(run_id="r", start=0, started_at=0.0)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    state = AgentState(messages=[HumanMessage([image] * 9)], turn=turn)

    assert await guard_context(state, stagehand.runtime, deps=deps) == {}
    assert stagehand.events == []


async def test_compaction_can_be_switched_off(make_deps: MakeDeps, stagehand: Any) -> None:
    deps = make_deps(known=WINDOW, compaction="off")

    assert await guard_context(thread(12), stagehand.runtime, deps=deps) == {}
