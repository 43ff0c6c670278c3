"""The answer is written from the whole question and trace."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from graph_agent.deps import Deps
from graph_agent.nodes import synthesize
from graph_agent.state import AgentState

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
