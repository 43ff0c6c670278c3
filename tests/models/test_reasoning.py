"""Thinking is kept apart from what is said, however it is spelt and wherever a stream is cut."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call

from graph_agent.models.reasoning import (
    only_reasoning,
    pieces_apart,
    reasoning_field,
    split_content,
    split_text,
    with_reasoning_apart,
)
from graph_agent.models.think_splitter import ThinkSplitter

pytestmark = pytest.mark.anyio
CALL = '{"type": "tool_call", "tool": "f", "args": {"q": "x"}}'
ACTION = '{"type": "tool_call", "tool": "f", "args": {"q": "</think>"}}'


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("Paris", ("", "Paris"), id="none"),
        pytest.param("<think>Hm.</think>\n\nParis", ("Hm.", "Paris"), id="closed"),
        pytest.param("\n<THINKING>Hm.</Thinking>Paris", ("Hm.", "Paris"), id="other spelling"),
        pytest.param("<think>\n\n</think>\n\nParis", ("", "Paris"), id="empty"),
        pytest.param("<think>a</think>\n<think>b</think>Paris", ("ab", "Paris"), id="two"),
        pytest.param("<think>Hm. Par", ("Hm. Par", ""), id="open"),
        pytest.param(f"<think>Look.\n{CALL}", ("Look.", CALL), id="open before an action"),
        pytest.param('<think>Like {"a": 1} or', ('Like {"a": 1} or', ""), id="open, JSON within"),
        pytest.param("Hm.\n\n</think>\n\nParis", ("Hm.", "Paris"), id="only closed"),
        pytest.param("Write `</think>` last.", ("", "Write `</think>` last."), id="a word"),
        pytest.param("Use <think> tags.", ("", "Use <think> tags."), id="a word amid text"),
        pytest.param(ACTION, ("", ACTION), id="a tag within an action"),
        pytest.param('{"a": "x\n</think>\ny"}', ("", '{"a": "x\n</think>\ny"}'), id="in JSON"),
        pytest.param(" <thin", ("", " <thin"), id="a tag that never came true"),
    ],
)
def test_a_whole_text(text: str, parts: tuple[str, str]) -> None:
    assert split_text(text) == parts


@pytest.mark.parametrize(
    ("text", "begins_thinking", "parts"),
    [
        pytest.param("Paris, <b>ville</b>", False, ("", "Paris, <b>ville</b>"), id="none"),
        pytest.param(
            "<think>a < b </th></think>\n\nParis", False, ("a < b </th>", "Paris"), id="1"
        ),
        pytest.param("<think>a</think><think>b</think> c", False, ("ab", "c"), id="two blocks"),
        pytest.param("<think>a</thin", False, ("a</thin", ""), id="open to the end"),
        pytest.param("<thi", False, ("", "<thi"), id="half a tag"),
        pytest.param("Hm.</think>\n\nParis", True, ("Hm.", "Paris"), id="begins thinking"),
        pytest.param("<think>Hm.</think>Paris", True, ("Hm.", "Paris"), id="says that it begins"),
        pytest.param("Paris", True, ("", "Paris"), id="did not think this time"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_a_stream_wherever_it_is_cut(
    text: str, parts: tuple[str, str], size: int, *, begins_thinking: bool
) -> None:
    splitter = ThinkSplitter(begins_thinking=begins_thinking)

    pieces = [splitter.feed(text[at : at + size]) for at in range(0, len(text), size)]
    pieces.append(splitter.end())

    assert tuple(map("".join, zip(*pieces, strict=True))) == parts


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "a", " ", "\n", "</thi", "nk>"])))
def test_every_cut_gives_the_same(pieces: list[str]) -> None:
    cut, whole = ThinkSplitter(), ThinkSplitter()

    by_pieces = [*map(cut.feed, pieces), cut.end()]
    at_once = [whole.feed("".join(pieces)), whole.end()]

    both = [tuple(map("".join, zip(*parts, strict=True))) for parts in (by_pieces, at_once)]
    assert both[0] == both[1]


def test_text_is_shown_as_soon_as_it_is_known_to_be_text() -> None:
    splitter = ThinkSplitter()

    assert [splitter.feed(piece).text for piece in ("<think>a</think>", " P", "aris")] == [
        "",
        "P",
        "aris",
    ]


THOUGHT = [{"type": "text", "text": "Hm"}, {"type": "text", "text": "."}]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        pytest.param("Paris", ("", "Paris"), id="text"),
        pytest.param(None, ("", ""), id="nothing"),
        pytest.param(["Par", {"type": "text", "text": "is"}], ("", "Paris"), id="texts"),
        pytest.param(
            [{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": "Paris"}],
            ("Hm.", "Paris"),
            id="Mistral's",
        ),
        pytest.param([{"type": "thinking", "thinking": "Hm."}], ("Hm.", ""), id="Anthropic's"),
        pytest.param([{"type": "reasoning", "reasoning": "Hm."}], ("Hm.", ""), id="LangChain's"),
        pytest.param(
            [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}],
            ("Hm.", ""),
            id="OpenAI's",
        ),
    ],
)
def test_content_of_blocks(content: object, parts: tuple[str, str]) -> None:
    assert split_content(content) == parts


@pytest.mark.parametrize(
    ("message", "reasoning"),
    [
        pytest.param({"content": "x"}, "", id="none"),
        pytest.param({"reasoning_content": "a"}, "a", id="reasoning_content"),
        pytest.param({"reasoning_content": None, "reasoning": "a"}, "a", id="reasoning"),
        pytest.param(
            {"reasoning_details": [{"type": "reasoning.text", "text": "a"}, {"data": "x"}]},
            "a",
            id="reasoning_details",
        ),
        pytest.param({"reasoning": "a", "reasoning_details": [{"text": "a"}]}, "a", id="both"),
    ],
)
def test_reasoning_beside_the_content(message: dict[str, Any], reasoning: str) -> None:
    assert reasoning_field(message) == reasoning


def test_a_message_of_any_provider() -> None:
    message = AIMessage("<think>Hm.</think>Paris", id="m")

    apart = with_reasoning_apart(message)

    kept = {"reasoning_content": "Hm."}
    assert apart == AIMessage("Paris", id="m", additional_kwargs=kept)
    assert with_reasoning_apart(apart) is apart


async def test_a_stream_of_any_provider() -> None:
    async def said() -> AsyncGenerator[AIMessageChunk, None]:
        for piece in ("<thi", "nk>Hm", ".</think>", "Paris", [{"type": "text", "text": "!"}]):
            yield AIMessageChunk(content=piece)

    pieces = [piece async for piece in pieces_apart(said())]

    whole = sum(pieces[1:], pieces[0])
    assert (whole.text, whole.additional_kwargs) == ("Paris!", {"reasoning_content": "Hm."})


@pytest.mark.parametrize(
    ("message", "claim"),
    [
        pytest.param(AIMessage(""), False, id="nothing at all"),
        pytest.param(AIMessage("hi"), False, id="text"),
        pytest.param(AIMessage("\n", additional_kwargs={"reasoning_content": "x"}), True, id="yes"),
        pytest.param(
            AIMessage("hi", additional_kwargs={"reasoning_content": "x"}), False, id="and text"
        ),
        pytest.param(
            AIMessage(
                "",
                additional_kwargs={"reasoning_content": "x"},
                tool_calls=[tool_call(name="f", args={}, id="1")],
            ),
            False,
            id="and a call",
        ),
    ],
)
def test_reasoning_and_nothing_else(message: AIMessage, *, claim: bool) -> None:
    assert only_reasoning(message) is claim
