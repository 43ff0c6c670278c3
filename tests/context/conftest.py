"""Threads to look at."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest
import toktok
from langchain_core.messages import AnyMessage

from graph_agent.state import AgentState, Turn

MakeState = Callable[..., AgentState]


PER_MESSAGE = 4
"""Tokens that OpenAI counts for a message beside its text."""


@pytest.fixture(scope="session")
def true_tokens() -> Callable[[dict[str, Any]], int]:
    """Count a request as a real server does: by its tokenizer."""

    def count(body: dict[str, Any]) -> int:
        texts = [orjson.dumps(body.get("tools") or "").decode()]
        for message in body["messages"]:
            calls = [call["function"] for call in message.get("tool_calls", [])]
            texts += [str(message["content"]), orjson.dumps(calls).decode() if calls else ""]
        tokens: list[int] = toktok.batch_count(texts, "o200k_base", 1)
        return sum(tokens) + PER_MESSAGE * len(body["messages"])

    return count


@pytest.fixture(scope="session")
def make_state() -> MakeState:
    """Make a thread whose run answers the message at `start`."""

    def make(messages: Sequence[AnyMessage], start: int = 0, **fields: Any) -> AgentState:
        turn = Turn(run_id="r", start=start, started_at=0.0)
        return AgentState(messages=list(messages), turn=turn, **fields)

    return make
