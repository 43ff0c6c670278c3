"""A prompt that grows with the thread is the one that would be built anew; pins have a share."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from graph_agent.context.prompt import prompt_of
from graph_agent.context.tokens import message_tokens
from graph_agent.context.view import Caps
from graph_agent.state import AgentState

MakeState = Callable[..., AgentState]
CAPS = Caps(message=120, pinned=200)
LONG = "word " * 80


def interrupt(text: str) -> HumanMessage:
    return HumanMessage(text, additional_kwargs={"kind": "interrupt", "ids": [text]})


def calling(number: int, results: int) -> list[BaseMessage]:
    ids = [f"{number}-{n}" for n in range(results)]
    calls = [{"name": "f", "args": {}, "id": i, "type": "tool_call"} for i in ids]
    return [
        AIMessage("", tool_calls=calls),
        *(ToolMessage("word " * 90, tool_call_id=i) for i in ids),
    ]


STEPS = st.one_of(
    st.integers(0, 3).map(lambda results: calling(0, results)),
    st.just([interrupt("also this")]),
    st.just([AIMessage("So far."), HumanMessage("Go on.")]),
    st.just([SystemMessage("Be brief.")]),
    st.just([ToolMessage("late", tool_call_id="0-0")]),
)


@given(
    steps=st.lists(STEPS, min_size=1, max_size=8),
    marks=st.fixed_dictionaries(
        {"cut": st.integers(0, 6), "shrunk": st.integers(0, 9), "cap": st.sampled_from([0, 60])}
    ),
)
def test_what_grew_step_by_step_is_what_would_be_built_anew(
    make_state: MakeState, steps: list[list[BaseMessage]], marks: dict[str, int]
) -> None:
    question = HumanMessage("q")
    messages: list[BaseMessage] = [question]
    for step in steps:
        # Objects of their own: the same one twice would be the same message.
        messages = [*messages, *(message.model_copy() for message in step)]
        state = make_state(messages, 0, **marks | {"cut": min(marks["cut"], len(messages))})
        grown = prompt_of(state, CAPS)

    anew = make_state([message.model_copy() for message in messages], 0)
    anew.cut, anew.shrunk, anew.cap = state.cut, state.shrunk, state.cap
    built = prompt_of(anew, CAPS)

    assert (grown.messages, grown.tokens, grown.system, grown.covers) == (
        built.messages,
        built.tokens,
        built.system,
        built.covers,
    )
    assert grown.tokens == sum(map(message_tokens, grown.messages))


def test_the_same_thread_is_looked_at_once(make_state: MakeState) -> None:
    messages = [HumanMessage("q"), *calling(1, 1)]

    assert prompt_of(make_state(messages), CAPS) is prompt_of(make_state(messages), CAPS)


def test_a_prompt_whose_last_call_had_no_results_is_built_anew(make_state: MakeState) -> None:
    call, result = calling(1, 1)
    prompt_of(make_state([HumanMessage("q"), call]), CAPS)

    shown = prompt_of(make_state([HumanMessage("q"), call, result]), CAPS).messages

    assert [type(message) for message in shown] == [HumanMessage, AIMessage, ToolMessage]
    assert shown[-1] is result


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        pytest.param(["a", "b", "c"], ["q", "a", "b", "c"], id="within the share all stay"),
        pytest.param(
            [f"a {LONG}", f"b {LONG}", f"d {LONG}", "e"], ["q", "b", "d", "e"], id="the oldest goes"
        ),
        pytest.param([LONG] * 9, ["q", LONG, LONG], id="the newest stay"),
        pytest.param(
            ["a", "word " * 300], ["q", "a", "word "], id="the newest is cut, not left out"
        ),
    ],
)
def test_of_what_the_user_said_before_the_cut_the_oldest_go_first(
    make_state: MakeState, said: list[str], kept: list[str]
) -> None:
    messages: list[Any] = [HumanMessage("q"), *map(interrupt, said), *calling(1, 1)]
    state = make_state(messages, 0, cut=len(messages) - 2)

    shown = prompt_of(state, CAPS).messages[:-2]

    assert [message.text[: len(text)] for message, text in zip(shown, kept, strict=True)] == kept
    assert sum(map(message_tokens, shown)) <= CAPS.pinned + CAPS.message
