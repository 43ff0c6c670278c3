"""What a run did, read from its messages alone."""

import pytest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from graph_agent.prompts import CALL_CANCELLED, NOTHING_FOUND
from graph_agent.state import AgentState, Turn
from graph_agent.trace import (
    StepRecord,
    fallback_answer,
    fitted_trace,
    interrupts_text,
    question_text,
    run_messages,
    step_records,
    trace_text,
    without_draft,
)

CALLING = AIMessage(
    "First look.",
    tool_calls=[
        {"name": "look", "args": {"at": "서울"}, "id": "c1", "type": "tool_call"},
        {"name": "fail", "args": {}, "id": "c2", "type": "tool_call"},
        {"name": "hang", "args": {}, "id": "c3", "type": "tool_call"},
    ],
)
FOUND = ToolMessage("x" * 9, tool_call_id="c1", response_metadata={"iteration": 2, "seconds": 0.5})
FAILED = ToolMessage(
    "Error: no", tool_call_id="c2", status="error", response_metadata={"iteration": 2, "seconds": 1}
)
INTERRUPT = HumanMessage("faster", additional_kwargs={"kind": "interrupt", "ids": ["1"]})
UNREADABLE = AIMessage("so what", additional_kwargs={"kind": "unreadable"})
REFORMAT = HumanMessage("Again.", additional_kwargs={"kind": "reformat"})
RUN: list[AnyMessage] = [
    HumanMessage("q1"),
    HumanMessage("q2"),
    UNREADABLE,
    REFORMAT,
    CALLING,
    FOUND,
    FAILED,
    INTERRUPT,
]
OLD: list[AnyMessage] = [HumanMessage("old"), AIMessage("answer")]


def state(*messages: AIMessage) -> AgentState:
    turn = Turn(run_id="r", start=len(OLD), started_at=0.0)
    return AgentState(messages=[*OLD, *RUN, *messages], turn=turn)


def test_run_messages_begin_with_the_question() -> None:
    assert run_messages(state()) == RUN


def test_step_records_are_the_calls_with_what_became_of_them() -> None:
    assert step_records(RUN) == [
        StepRecord(
            iteration=2,
            call_id="c1",
            tool_name="look",
            tool_args={"at": "서울"},
            observation="x" * 9,
            error=False,
            seconds=0.5,
        ),
        StepRecord(
            iteration=2,
            call_id="c2",
            tool_name="fail",
            tool_args={},
            observation="Error: no",
            error=True,
            seconds=1,
        ),
        StepRecord(
            iteration=0,
            call_id="c3",
            tool_name="hang",
            tool_args={},
            observation=CALL_CANCELLED,
            error=True,
            seconds=0.0,
        ),
    ]


def test_the_trace_holds_thoughts_calls_and_cut_results() -> None:
    assert trace_text([*RUN, AIMessage("Draft.")], result_chars=5) == (
        "First look.\n"
        'look(at="서울") -> xxxxx… (4 more characters)\n'
        "fail() -> Error… (4 more characters)\n"
        f"hang() -> {CALL_CANCELLED[:5]}… ({len(CALL_CANCELLED) - 5} more characters)\n"
        "Draft."
    )


def test_a_trace_that_is_too_long_gets_shorter_results() -> None:
    long = ToolMessage("word " * 800, tool_call_id="1")
    call = AIMessage("", tool_calls=[{"id": "1", "name": "look", "args": {}}])

    trace = fitted_trace([call, long] * 3, result_chars=2_000, room=500)

    assert trace.splitlines() == ["look() -> " + "word " * 100 + "… (3500 more characters)"] * 3


def test_question_and_interrupts_are_the_users_words() -> None:
    messages = [*RUN, SystemMessage("s")]

    assert question_text(messages) == "q1\n\nq2"
    assert interrupts_text([*messages, INTERRUPT]) == "faster\n\nfaster"


def test_the_fallback_is_the_loops_own_text() -> None:
    assert fallback_answer(state(AIMessage("Draft."))) == "Draft."


CHECKED: list[AnyMessage] = [
    AIMessage("A whole answer."),
    HumanMessage("Is it complete?", additional_kwargs={"kind": "check"}),
]


def test_the_fallback_is_the_answer_that_a_check_only_confirmed() -> None:
    turn = Turn(run_id="r", start=len(OLD), started_at=0.0)
    confirmed = AgentState(messages=[*OLD, *RUN, *CHECKED, AIMessage("Yes.")], turn=turn)

    assert fallback_answer(confirmed) == "A whole answer."


@pytest.mark.parametrize(
    ("since", "draft"),
    [([], None), ([AIMessage("Draft.")], 0), ([*CHECKED, AIMessage("Yes.")], 0)],
    ids=["no answer", "an answer", "confirmed"],
)
def test_the_draft_is_told_apart(since: list[AnyMessage], draft: int | None) -> None:
    rest = [message for number, message in enumerate(since) if number != draft]

    assert without_draft([*RUN, *since]) == [*RUN, *rest]


@pytest.mark.parametrize("last", [[], [AIMessage(" ")]], ids=["limit", "empty draft"])
def test_without_a_text_the_fallback_tells_the_steps(last: list[AIMessage]) -> None:
    assert fallback_answer(state(*last)) == (
        "The work is not finished. This is what was done and found:\n\n"
        "- `look` found: xxxxxxxxx\n"
        "- `fail` failed: Error: no\n"
        f"- `hang` failed: {CALL_CANCELLED}"
    )


def test_without_steps_the_fallback_says_so() -> None:
    turn = Turn(run_id="r", start=0, started_at=0.0)

    assert fallback_answer(AgentState(messages=[HumanMessage("q")], turn=turn)) == NOTHING_FOUND
