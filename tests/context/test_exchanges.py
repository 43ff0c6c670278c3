"""Any history comes out with calls and results in pairs."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from graph_agent.context.exchanges import Exchange, exchanges
from graph_agent.models.message_form import to_wire
from graph_agent.prompts import CALL_CANCELLED
from graph_agent.testing.message_rules import MESSAGE_RULES

IDS = st.sampled_from(["c1", "c2", "c3"])


def calling(*ids: str) -> AIMessage:
    calls = [{"name": f"tool_{i}", "args": {}, "id": i, "type": "tool_call"} for i in ids]
    return AIMessage("", tool_calls=calls)


def result(call_id: str, text: str = "R") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id)


HISTORIES = st.lists(
    st.one_of(
        st.builds(lambda: HumanMessage("q")),
        st.builds(lambda: AIMessage("a")),
        st.lists(IDS, unique=True, min_size=1).map(lambda ids: calling(*ids)),
        IDS.map(result),
        IDS.map(result),
    ),
    max_size=12,
)


def sent(history: Sequence[BaseMessage]) -> list[BaseMessage]:
    return [message for exchange in exchanges(history) for message in exchange.messages]


@settings(max_examples=200)
@given(HISTORIES)
def test_any_history_satisfies_the_endpoints_rules(history: list[BaseMessage]) -> None:
    body = {"messages": [to_wire(message) for message in [HumanMessage("q"), *sent(history)]]}

    assert [reason for rule in MESSAGE_RULES if (reason := rule(body))] == []


@given(HISTORIES)
def test_nothing_but_results_is_left_out_or_moved(history: list[BaseMessage]) -> None:
    kept = [message for message in history if not isinstance(message, ToolMessage)]

    assert [m for m in sent(history) if not isinstance(m, ToolMessage)] == kept


@pytest.mark.parametrize(
    ("history", "results"),
    [
        pytest.param([calling("a", "b"), result("b"), result("a")], ["a R", "b R"], id="order"),
        pytest.param([calling("a"), result("a", "1"), result("a", "2")], ["a 1"], id="twice"),
        pytest.param([calling("a"), result("x"), result("a")], ["a R"], id="stray"),
        pytest.param([result("a"), HumanMessage("q")], [], id="no call"),
        pytest.param(
            [calling("a", "b"), result("a")], ["a R", f"b {CALL_CANCELLED}"], id="missing"
        ),
        pytest.param(
            [calling("a"), HumanMessage("q"), result("a")], [f"a {CALL_CANCELLED}"], id="late"
        ),
    ],
)
def test_results_are_paired(history: list[BaseMessage], results: list[str]) -> None:
    found = [m for m in sent(history) if isinstance(m, ToolMessage)]

    assert [f"{m.tool_call_id} {m.text}" for m in found] == results


def test_an_exchange_is_a_reply_with_its_results_or_one_message() -> None:
    history = [HumanMessage("q"), calling("a"), result("a"), AIMessage("done")]

    assert list(exchanges(history, 1)) == [
        Exchange(1, (history[1], history[2])),
        Exchange(3, (history[3],)),
    ]


def test_the_stand_in_of_a_missing_result_stays_the_same_message() -> None:
    history = [calling("a")]

    assert sent(history)[1] is sent(history)[1]
