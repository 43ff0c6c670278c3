"""A message over its cap keeps head and tail, of its text and of its calls' arguments."""

import gc
import weakref
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from graph_agent.context.shortening import clipped
from graph_agent.context.tokens import message_tokens

CALL = {"name": "f", "args": {}, "id": "c", "type": "tool_call"}


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


ROW = {"path": "notes/today.txt", "n": 3}


@pytest.mark.parametrize(
    ("args", "cap", "expected"),
    [
        pytest.param(ROW, 10, ROW, id="short ones stay, whatever the cap"),
        pytest.param(
            ROW | {"text": "word " * 900},
            100,
            ROW | {"text": f"{('word ' * 14).strip()}\n[908 tokens cut here]\nord {'word ' * 13}"},
            id="a long text is cut, what says where it goes is kept",
        ),
        pytest.param(
            {"numbers": list(range(900))},
            60,
            {"shortened": '{"numbe\n[2805 tokens cut here]\n, 899]}'},
            id="no long text: head and tail of the whole",
        ),
    ],
)
def test_arguments_of_calls_are_cut_as_well(
    args: dict[str, Any], cap: int, expected: dict[str, Any]
) -> None:
    message = AIMessage("", tool_calls=[CALL | {"args": args}])

    short = clipped(message, cap)

    assert isinstance(short, AIMessage)
    assert [call["args"] for call in short.tool_calls] == [expected]
    assert message.tool_calls[0]["args"] == args
    assert clipped(message, cap) is short


def test_calls_share_what_their_message_may_take() -> None:
    calls = [CALL | {"id": f"c{n}", "args": {"text": "word " * 900}} for n in range(3)]
    message = AIMessage("word " * 900, tool_calls=calls)

    assert message_tokens(clipped(message, 600)) <= 600


def test_shortened_messages_are_forgotten_with_their_originals() -> None:
    message = HumanMessage("x" * 9_000)
    calling = AIMessage("", tool_calls=[CALL | {"args": {"text": "x" * 9_000}}])
    alive: list[weakref.ref[BaseMessage]] = [weakref.ref(message), weakref.ref(calling)]
    clipped(message, 100)
    clipped(calling, 100)

    del message, calling
    gc.collect()

    assert [reference() for reference in alive] == [None, None]
