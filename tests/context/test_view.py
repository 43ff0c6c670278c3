"""What a model is shown: the user's words always, and no message over its cap."""

import gc
import weakref
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from graph_agent.context.tokens import message_tokens
from graph_agent.context.view import clipped, prompt_view
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
def test_prompt_view(
    make_state: MakeState,
    messages: list[BaseMessage],
    start: int,
    cut: int,
    view: list[BaseMessage],
) -> None:
    state = make_state(messages, start, cut=cut)

    assert prompt_view(state, message_cap=1_000) == view


def test_a_long_result_keeps_head_and_tail_and_says_how_much_is_cut() -> None:
    message = ToolMessage("HEAD" + " word" * 2_000 + "TAIL", tool_call_id="c", id="m")

    short = clipped(message, 100)

    text = short.text
    assert (text[:6], text[-5:]) == ("HEAD w", "dTAIL")
    assert "\n[2011 tokens cut here]\n" in text
    assert short == message.model_copy(update={"content": text})
    assert clipped(message, 100) is short


@settings(max_examples=50)
@given(
    texts=st.lists(st.sampled_from(["word ", "서울 ", "🙂", "\n", "a"]), min_size=1, max_size=6),
    times=st.integers(1, 500),
    cap=st.integers(32, 500),
)
def test_no_text_takes_more_than_its_cap(texts: list[str], times: int, cap: int) -> None:
    message = HumanMessage("".join(text * times for text in texts))

    short = clipped(message, cap)

    assert message_tokens(short) <= cap
    assert (short is message) == (message_tokens(message) <= cap)


def test_images_stay_where_text_is_cut() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    message = HumanMessage([{"type": "text", "text": "x" * 9_000}, image])

    content = clipped(message, 1_100).content

    assert content[1:] == [image]
    assert "tokens cut here" in str(content[0])


def test_a_call_with_long_arguments_stays_as_it_is() -> None:
    message = AIMessage("", tool_calls=[CALL | {"args": {"text": "x" * 9_000}}])

    assert clipped(message, 100) is message


def test_many_results_of_one_reply_share_what_two_may_take(make_state: MakeState) -> None:
    calls = [CALL | {"id": f"c{number}"} for number in range(8)]
    results = [ToolMessage("x" * 9_000, tool_call_id=f"c{number}") for number in range(8)]
    state = make_state([QUESTION, AIMessage("", tool_calls=calls), *results])

    view = prompt_view(state, message_cap=400)

    assert sum(message_tokens(message) for message in view[2:]) <= 800
    assert [m.text[0] for m in view[2:]] == ["x"] * 8


def test_shortened_messages_are_forgotten_with_their_originals() -> None:
    message = HumanMessage("x" * 9_000)
    calling = AIMessage("", tool_calls=[CALL | {"args": {"text": "x" * 9_000}}])
    alive: list[weakref.ref[BaseMessage]] = [weakref.ref(message), weakref.ref(calling)]
    clipped(message, 100)
    clipped(calling, 100)

    del message, calling
    gc.collect()

    assert [reference() for reference in alive] == [None, None]
