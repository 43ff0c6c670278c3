"""The model is asked in the mode that it is able to, and its reply joins the thread."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from graph_agent.deps import Deps
from graph_agent.errors import ModelRefusedError
from graph_agent.nodes import think
from graph_agent.prompts import SYSTEM_PROMPT
from graph_agent.state import AgentState, Turn

pytestmark = pytest.mark.anyio

MakeDeps = Callable[..., Deps]
FINAL = '{"reasoning": "Easy.", "type": "final_answer", "answer": "Paris"}'


def add(a: int) -> int:
    """Add."""
    return a


def thread(*before: Any) -> AgentState:
    messages = [*before, HumanMessage("Capital?")]
    turn = Turn(run_id="r", start=len(before), started_at=0.0)
    return AgentState(messages=messages, turn=turn, iteration=1)


async def test_a_reply_counts_as_an_iteration(make_deps: MakeDeps, stagehand: Any) -> None:
    deps = make_deps(AIMessage("Paris", id="m"), tools=[add])

    update = await think(thread(), stagehand.runtime, deps=deps)

    assert (update["messages"], update["iteration"], update["mode"]) == (
        [AIMessage("Paris", id="m")],
        2,
        "native",
    )
    assert update["usage"]["by_purpose"]["loop"]["calls"] == 1
    assert [event["data"]["status"] for event in stagehand.events] == ["start", "done"]


async def test_system_messages_of_the_caller_join_the_system_prompt(
    make_deps: MakeDeps, stagehand: Any
) -> None:
    deps = make_deps("Paris")

    await think(thread(SystemMessage("Be brief.")), stagehand.runtime, deps=deps)

    chat: Any = deps.model.chat
    assert [(m.type, m.text) for m in chat.asked[0].messages] == [
        ("system", f"{SYSTEM_PROMPT}\n\nBe brief."),
        ("human", "Capital?"),
    ]


@pytest.mark.parametrize(
    ("small", "settings", "asked"),
    [
        pytest.param(False, {}, True, id="auto"),
        pytest.param(True, {}, False, id="auto, small model"),
        pytest.param(True, {"json_reasoning": "last"}, True, id="last, small model"),
        pytest.param(False, {"json_reasoning": "off"}, False, id="off"),
    ],
)
async def test_reasoning_is_asked_for_where_it_helps(
    make_deps: MakeDeps, stagehand: Any, settings: dict[str, Any], *, small: bool, asked: bool
) -> None:
    deps = make_deps(FINAL, known={"small": small}, use_native_tools=False, **settings)

    update = await think(thread(), stagehand.runtime, deps=deps)

    chat: Any = deps.model.chat
    assert ('"reasoning"' in chat.asked[0].messages[0].text) is asked
    assert update["mode"] == "json"
    assert stagehand.events[-1]["data"]["reasoning"] == "Easy."


async def test_thinking_ends_also_where_the_model_fails(
    make_deps: MakeDeps, stagehand: Any
) -> None:
    deps = make_deps(ModelRefusedError("no", status=400))

    with pytest.raises(ModelRefusedError):
        await think(thread(), stagehand.runtime, deps=deps)

    assert [event["data"]["status"] for event in stagehand.events] == ["start", "done"]
