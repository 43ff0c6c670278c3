"""A run begins with its question and with nothing of the run before."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from graph_agent.deps import Deps
from graph_agent.errors import ConfigError, ModelUnavailableError
from graph_agent.interrupts import InterruptQueue
from graph_agent.models.retry import RetryPolicy
from graph_agent.nodes import select_tools
from graph_agent.state import AgentState, Turn
from graph_agent.usage import no_usage

pytestmark = pytest.mark.anyio

MakeDeps = Callable[..., Deps]
CALLING = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c", "type": "tool_call"}])
RESULT = ToolMessage("R", tool_call_id="c")
INTERRUPT = HumanMessage("i", additional_kwargs={"kind": "interrupt", "ids": ["1"]})
QUESTION, ANSWER, SYSTEM = HumanMessage("q"), AIMessage("a"), SystemMessage("s")


def tool_named(name: str) -> Any:
    def tool(text: str) -> str:
        """Do something."""
        return text

    tool.__name__ = name
    return tool


TOOLS = [tool_named(f"tool_{number}") for number in range(13)]


async def test_everything_of_a_run_is_reset(make_deps: MakeDeps, stagehand: Any) -> None:
    state = AgentState(
        messages=[QUESTION, ANSWER, QUESTION],
        turn=Turn(run_id="old", start=0, started_at=1.0),
        iteration=9,
        iteration_limit=9,
        selected_tools=["x"],
        held=[INTERRUPT],
        cut=1,
        answer="old",
        stop_reason="final",
    )

    update = await select_tools(state, stagehand.runtime, deps=make_deps(max_iterations=5))

    assert update == {
        "turn": {"run_id": "run", "start": 2, "started_at": 7.0},
        "iteration": 0,
        "iteration_limit": 5,
        "selected_tools": [],
        "held": [],
        "usage": no_usage(),
        "answer": "",
        "structured": None,
        "structured_error": None,
        "stop_reason": None,
    }
    assert stagehand.events == []


@pytest.mark.parametrize(
    ("messages", "start"),
    [
        pytest.param([QUESTION], 0, id="first question"),
        pytest.param([QUESTION, ANSWER, QUESTION], 2, id="next turn"),
        pytest.param([QUESTION, ANSWER, QUESTION, QUESTION], 2, id="two messages"),
        pytest.param([SYSTEM, QUESTION], 1, id="system message first"),
        pytest.param([QUESTION, SYSTEM], 0, id="system message last"),
        pytest.param([ANSWER, QUESTION, SYSTEM, QUESTION], 1, id="system message between"),
        pytest.param([QUESTION, CALLING, QUESTION], 2, id="unfinished thread"),
        pytest.param([QUESTION, CALLING, RESULT, QUESTION], 3, id="ended behind a result"),
        pytest.param([QUESTION, CALLING, RESULT, INTERRUPT, QUESTION], 4, id="behind interrupt"),
    ],
)
async def test_the_question_is_the_first_of_the_users_last_messages(
    make_deps: MakeDeps, stagehand: Any, messages: list[BaseMessage], start: int
) -> None:
    history: list[Any] = list(messages)

    update = await select_tools(AgentState(messages=history), stagehand.runtime, deps=make_deps())

    assert update["turn"]["start"] == start


@pytest.mark.parametrize(
    "messages", [[], [SYSTEM], [QUESTION, ANSWER], [INTERRUPT]], ids=["none", "s", "a", "i"]
)
async def test_without_a_question_it_says_what_to_do(
    make_deps: MakeDeps, stagehand: Any, messages: list[Any]
) -> None:
    with pytest.raises(ConfigError, match="put a user message last"):
        await select_tools(AgentState(messages=messages), stagehand.runtime, deps=make_deps())


async def test_the_selection_reads_the_whole_question(make_deps: MakeDeps, stagehand: Any) -> None:
    pick = {"name": "select_tools", "args": {"tools": ["tool_2", "tool_1", "no"]}, "id": "p"}
    deps = make_deps(AIMessage("", tool_calls=[pick | {"type": "tool_call"}]), tools=TOOLS)
    state = AgentState(messages=[HumanMessage("Long text."), HumanMessage("Short question?")])

    update = await select_tools(state, stagehand.runtime, deps=deps)

    assert update["selected_tools"] == ["tool_2", "tool_1"]
    chat: Any = deps.model.chat
    assert chat.asked[0].messages[-1].text == "Long text.\n\nShort question?"
    assert update["usage"]["by_purpose"]["select_tools"]["calls"] == 1


async def test_a_selection_that_fails_offers_all(make_deps: MakeDeps, stagehand: Any) -> None:
    deps = make_deps(
        ModelUnavailableError("down"), tools=TOOLS, known={"retry": RetryPolicy(max_retries=0)}
    )

    update = await select_tools(AgentState(messages=[QUESTION]), stagehand.runtime, deps=deps)

    assert update["selected_tools"] == []


async def test_interrupts_that_are_saved_are_forgotten(make_deps: MakeDeps, stagehand: Any) -> None:
    queue = InterruptQueue(stagehand.store, "t")
    old, new = await queue.put("old"), await queue.put("new")
    kind = {"kind": "interrupt", "ids": [old.id]}
    state = AgentState(messages=[HumanMessage("old", additional_kwargs=kind), ANSWER, QUESTION])

    await select_tools(state, stagehand.runtime, deps=make_deps())

    assert await queue.pending() == [new]
