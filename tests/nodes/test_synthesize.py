"""The answer is written from the whole question and trace."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk

from graph_agent import Settings
from graph_agent.deps import Deps
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.retry import RetryPolicy
from graph_agent.nodes import synthesize
from graph_agent.state import AgentState
from graph_agent.testing import ScriptedChatModel
from graph_agent.tools.registry import ToolRegistry

pytestmark = pytest.mark.anyio


async def test_every_message_of_the_question_is_asked(
    make_deps: Callable[..., Deps], stagehand: Any
) -> None:
    deps = make_deps("Seoul.", synthesis="always")
    state = AgentState(messages=[HumanMessage("A long text."), HumanMessage("Which city?")])

    update = await synthesize(state, stagehand.runtime, deps=deps)

    chat: Any = deps.model.chat
    assert "Question: A long text.\n\nWhich city?\n" in chat.asked[0].messages[-1].text
    assert update["answer"].startswith("Seoul.")


class BreakingChatModel(ScriptedChatModel):
    """Breaks off after the first line of a reply that ends with `…`."""

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in super()._astream(*args, **kwargs):
            if chunk.text.endswith("…"):
                raise ConnectionError("reset by peer")
            yield chunk


def answered(events: list[Any]) -> list[str]:
    """What the answer's events say."""
    told = [event["data"] for event in events if event["event"] == "answer"]
    return [data.get("content", data["status"]) for data in told]


async def test_a_break_is_told_and_each_try_is_counted(stagehand: Any) -> None:
    chat = BreakingChatModel(replies=["Half\n…", "Half\n…"])
    model = LanguageModel.of(chat, retry=RetryPolicy(max_retries=1))
    chosen = Settings(database="memory:", synthesis="always")
    deps = Deps(model=model, tools=ToolRegistry(), settings=chosen)
    state = AgentState(messages=[HumanMessage("q"), AIMessage("Draft.", id="d")])

    update = await synthesize(state, stagehand.runtime, deps=deps)

    assert answered(stagehand.events) == [
        "start",
        "Half\n",
        "reset",
        "Half\n",
        "reset",
        "Draft.",
        "done",
    ]
    assert update["answer"] == "Draft."
    assert update["usage"]["by_purpose"]["synthesize"]["calls"] == 2


async def test_the_reason_that_the_loop_gave_is_kept(
    make_deps: Callable[..., Deps], stagehand: Any
) -> None:
    deps = make_deps("It is 3.", synthesis="always")
    state = AgentState(messages=[HumanMessage("q")], stop_reason="repeated_calls")

    update = await synthesize(state, stagehand.runtime, deps=deps)

    assert update["stop_reason"] == "repeated_calls"
    assert "*Stopped at the limit of 5 equal calls" in update["answer"]
