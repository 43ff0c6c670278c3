"""What messages are, and which calls and answers wait."""

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from graph_agent.state import is_question, marked, open_calls, pending_answer, said_by_user

CALLING = AIMessage(
    "",
    tool_calls=[
        {"name": "f", "args": {}, "id": "c1", "type": "tool_call"},
        {"name": "f", "args": {}, "id": "c2", "type": "tool_call"},
    ],
)
QUESTION, ANSWER = HumanMessage("q"), AIMessage("a")


def result(call_id: str) -> ToolMessage:
    return ToolMessage("R", tool_call_id=call_id)


@pytest.mark.parametrize(
    ("messages", "waiting"),
    [
        pytest.param([], [], id="empty"),
        pytest.param([QUESTION, ANSWER], [], id="answer"),
        pytest.param([QUESTION, CALLING], ["c1", "c2"], id="none is done"),
        pytest.param([QUESTION, CALLING, result("c2")], ["c1"], id="one is done"),
        pytest.param([QUESTION, CALLING, result("c2"), result("c1")], [], id="all are done"),
        pytest.param([CALLING, QUESTION], [], id="a new question came"),
    ],
)
def test_open_calls(messages: list[BaseMessage], waiting: list[str]) -> None:
    assert [call["id"] for call in open_calls(messages)] == waiting


@pytest.mark.parametrize(
    ("messages", "pending"),
    [
        pytest.param([], None, id="empty"),
        pytest.param([QUESTION], None, id="question"),
        pytest.param([QUESTION, ANSWER], ANSWER, id="answer"),
        pytest.param([QUESTION, CALLING], None, id="calls"),
        pytest.param([ANSWER, QUESTION], None, id="suppressed by a message"),
    ],
)
def test_pending_answer(messages: list[BaseMessage], pending: AIMessage | None) -> None:
    assert pending_answer(messages) is pending


@pytest.mark.parametrize(
    ("message", "question", "said"),
    [
        pytest.param(QUESTION, True, True, id="question"),
        pytest.param(
            HumanMessage("i", additional_kwargs={"kind": "interrupt"}), False, True, id="interrupt"
        ),
        pytest.param(
            HumanMessage("r", additional_kwargs={"kind": "reformat"}), False, False, id="reformat"
        ),
        pytest.param(ANSWER, False, False, id="answer"),
        pytest.param(SystemMessage("s"), False, False, id="system"),
    ],
)
def test_whose_words_a_message_holds(message: BaseMessage, *, question: bool, said: bool) -> None:
    assert (is_question(message), said_by_user(message)) == (question, said)


def test_marked() -> None:
    assert marked(AIMessage("a", additional_kwargs={"kind": "answer"})) == "answer"
    assert marked(QUESTION) is None
