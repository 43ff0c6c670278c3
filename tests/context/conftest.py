"""Threads to look at."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import AnyMessage

from graph_agent.state import AgentState, Turn

MakeState = Callable[..., AgentState]


@pytest.fixture(scope="session")
def make_state() -> MakeState:
    """Make a thread whose run answers the message at `start`."""

    def make(messages: Sequence[AnyMessage], start: int = 0, **fields: Any) -> AgentState:
        turn = Turn(run_id="r", start=start, started_at=0.0)
        return AgentState(messages=list(messages), turn=turn, **fields)

    return make
