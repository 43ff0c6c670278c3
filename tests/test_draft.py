"""Which answer of the loop stands, where one was checked."""

from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from graph_agent.draft import answer_draft

LONG = "The first is one, and the second is two."


def kind(name: str) -> HumanMessage:
    return HumanMessage("…", additional_kwargs={"kind": name})


def work(*numbers: int) -> list[AnyMessage]:
    """Rounds of one call each."""
    calls = [{"name": "look", "args": {}, "id": f"c{n}", "type": "tool_call"} for n in numbers]
    rounds = [
        (AIMessage("", tool_calls=[call]), ToolMessage("R", tool_call_id=call["id"]))
        for call in calls
    ]
    return [message for each in rounds for message in each]


DRAFT, BETTER, CONFIRMED, EMPTY = (
    AIMessage(LONG),
    AIMessage(LONG[3:]),
    AIMessage("Yes."),
    AIMessage(" "),
)
HALF = AIMessage("x" * (len(LONG) // 2))
SO_WHAT = AIMessage("so what", additional_kwargs={"kind": "unreadable"})


@pytest.mark.parametrize(
    ("since", "kept"),
    [
        pytest.param([CONFIRMED], CONFIRMED, id="no check"),
        pytest.param([EMPTY], EMPTY, id="no check, empty"),
        pytest.param([], None, id="nothing at all"),
        pytest.param([DRAFT], DRAFT, id="no check yet"),
        pytest.param([DRAFT, kind("check")], DRAFT, id="no reply to the check"),
        pytest.param([DRAFT, kind("check"), BETTER], BETTER, id="answered anew"),
        pytest.param([DRAFT, kind("check"), HALF], HALF, id="half as long"),
        pytest.param([DRAFT, kind("check"), CONFIRMED], DRAFT, id="confirmed"),
        pytest.param([DRAFT, kind("check"), EMPTY], DRAFT, id="empty"),
        pytest.param([DRAFT, kind("check"), SO_WHAT, kind("reformat")], DRAFT, id="unreadable"),
        pytest.param(
            [DRAFT, kind("check"), SO_WHAT, kind("reformat"), CONFIRMED], DRAFT, id="mended"
        ),
        pytest.param([DRAFT, kind("check"), *work(7)], DRAFT, id="cut off amid more work"),
        pytest.param([DRAFT, kind("check"), *work(7), EMPTY], DRAFT, id="empty after more work"),
        pytest.param([DRAFT, kind("check"), *work(7), CONFIRMED], CONFIRMED, id="found out more"),
        pytest.param(
            [DRAFT, kind("check"), kind("interrupt"), CONFIRMED], CONFIRMED, id="asked more"
        ),
        pytest.param([DRAFT, kind("check"), kind("interrupt")], None, id="suppressed by a message"),
    ],
)
def test_which_answer_of_the_loop_stands(
    since: Sequence[BaseMessage], kept: AIMessage | None
) -> None:
    assert answer_draft([HumanMessage("q"), *work(1, 2, 3), *since]) is kept
