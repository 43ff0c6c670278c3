"""Whoever listens to LangChain's callbacks hears of each model call and each tool call."""

from collections import Counter
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import HumanMessage

from graph_agent import build_graph
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.testing import StrictEndpoint

pytestmark = pytest.mark.anyio


class Listener(AsyncCallbackHandler):
    """Counts what it is told."""

    def __init__(self) -> None:
        self.told: Counter[str] = Counter()

    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.told["model"] += 1

    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        self.told["reply"] += 1

    async def on_tool_start(self, *args: Any, **kwargs: Any) -> None:
        self.told["tool"] += 1

    async def on_tool_end(self, *args: Any, **kwargs: Any) -> None:
        self.told["result"] += 1


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: One.
        b: The other.
    """
    return a + b


async def test_callbacks_are_told_of_every_call(speech: Any) -> None:
    listener = Listener()
    replies = [speech.calls(("add", {"a": 2, "b": 3})), speech.final("5")]
    with StrictEndpoint(replies) as endpoint:
        chat = CompatibleChatModel(model="fake", base_url=endpoint.base_url, api_key="k")
        graph = build_graph(
            chat, [add], synthesis="never", use_native_tools=speech.mode == "native"
        )
        asked: Any = {"messages": [HumanMessage("2 + 3?")]}
        heard = await graph.ainvoke(asked, {"callbacks": [listener]})
        await chat.aclose()

    assert heard["answer"] == "5"
    assert listener.told == {"model": 2, "reply": 2, "tool": 1, "result": 1}
