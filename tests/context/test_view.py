"""What a model is shown: the user's words always, and no message over its cap."""

from collections.abc import Callable

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from graph_agent.context.prompt import prompt_of
from graph_agent.context.tokens import message_tokens
from graph_agent.context.view import Caps
from graph_agent.state import AgentState

MakeState = Callable[..., AgentState]

CALL = {"name": "f", "args": {}, "id": "c", "type": "tool_call"}
CALLING = AIMessage("", tool_calls=[CALL])
RESULT = ToolMessage("R", tool_call_id="c")
INTERRUPT = HumanMessage("stop", additional_kwargs={"kind": "interrupt", "ids": ["1"]})
REFORMAT = HumanMessage("again", additional_kwargs={"kind": "reformat"})
OLD, QUESTION, SECOND = HumanMessage("old"), HumanMessage("q1"), HumanMessage("q2")
ANSWER = AIMessage("a")


@pytest.mark.parametrize(
    ("messages", "start", "cut", "view"),
    [
        pytest.param([OLD, ANSWER, QUESTION], 2, 0, [OLD, ANSWER, QUESTION], id="no cut"),
        pytest.param([OLD, ANSWER, QUESTION], 2, 2, [QUESTION], id="old turn cut"),
        pytest.param(
            [QUESTION, CALLING, RESULT, ANSWER], 0, 3, [QUESTION, ANSWER], id="question kept"
        ),
        pytest.param(
            [QUESTION, SECOND, CALLING, RESULT, ANSWER],
            0,
            4,
            [QUESTION, SECOND, ANSWER],
            id="every message of the question kept",
        ),
        pytest.param(
            [QUESTION, CALLING, RESULT, INTERRUPT, CALLING, RESULT],
            0,
            4,
            [QUESTION, INTERRUPT, CALLING, RESULT],
            id="interrupt kept",
        ),
        pytest.param(
            [OLD, INTERRUPT, ANSWER, QUESTION], 3, 3, [QUESTION], id="old interrupt not kept"
        ),
        pytest.param(
            [QUESTION, AIMessage("?"), REFORMAT, ANSWER], 0, 3, [QUESTION, ANSWER], id="our words"
        ),
        pytest.param([SystemMessage("s"), QUESTION], 1, 0, [QUESTION], id="system message"),
        pytest.param([QUESTION, AIMessage(" "), SECOND], 0, 0, [QUESTION, SECOND], id="silent"),
    ],
)
def test_what_is_shown(
    make_state: MakeState,
    messages: list[BaseMessage],
    start: int,
    cut: int,
    view: list[BaseMessage],
) -> None:
    state = make_state(messages, start, cut=cut)

    assert prompt_of(state, Caps(message=1_000, pinned=1_000)).messages == view


def test_many_results_of_one_reply_share_what_two_may_take(make_state: MakeState) -> None:
    calls = [CALL | {"id": f"c{number}"} for number in range(8)]
    results = [ToolMessage("x" * 9_000, tool_call_id=f"c{number}") for number in range(8)]
    state = make_state([QUESTION, AIMessage("", tool_calls=calls), *results])

    view = prompt_of(state, Caps(message=400, pinned=1_000)).messages

    assert sum(message_tokens(message) for message in view[2:]) <= 800
    assert [m.text[0] for m in view[2:]] == ["x"] * 8
