"""Counts are estimates on the high side, and never fail."""

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from graph_agent.context.tokens import (
    IMAGE_TOKENS,
    LONG,
    MESSAGE_OVERHEAD,
    message_tokens,
    schema_tokens,
    text_tokens,
)

IMAGE = "data:image/png;base64," + "A" * 40_000
CALL = {"name": "f", "args": {"n": 10**30, "text": "\ud83d"}, "id": "c", "type": "tool_call"}


@pytest.mark.parametrize(
    ("text", "least"),
    [
        pytest.param("", 0, id="empty"),
        pytest.param("What is the capital of Japan?", 7, id="English"),
        pytest.param("서울의 날씨는 어떤가요?", 8, id="Korean"),
        pytest.param("<|endoftext|>", 3, id="special token"),
        pytest.param("half \ud83d", 2, id="lone surrogate"),
    ],
)
def test_text_tokens(text: str, least: int) -> None:
    assert least <= text_tokens(text) <= 2 * least + 1


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        pytest.param(HumanMessage(""), 0, id="empty"),
        pytest.param(
            HumanMessage([{"type": "image_url", "image_url": {"url": IMAGE}}]),
            IMAGE_TOKENS,
            id="image_url",
        ),
        pytest.param(
            HumanMessage([{"type": "input_image", "image_url": IMAGE}]),
            IMAGE_TOKENS,
            id="input_image",
        ),
        pytest.param(
            HumanMessage(["one two " * 5, {"type": "text", "text": "six " * 10}]),
            20,
            id="text blocks",
        ),
        pytest.param(AIMessage("", tool_calls=[CALL]), 52, id="call"),
        pytest.param(
            ToolMessage(
                ["page 1 ", {"type": "image_url", "image_url": {"url": IMAGE}}], tool_call_id="c"
            ),
            IMAGE_TOKENS + 4,
            id="image of a tool",
        ),
        pytest.param(
            AIMessage("word " * 100, tool_calls=[CALL, CALL | {"id": "d"}]),
            206,
            id="text and calls",
        ),
    ],
)
def test_message_tokens(message: BaseMessage, tokens: int) -> None:
    assert tokens <= message_tokens(message) - MESSAGE_OVERHEAD <= tokens + 2


def test_no_schemas_take_nothing() -> None:
    assert schema_tokens([]) == 0
    assert schema_tokens([{"name": "f"}]) > 0


def test_a_long_description_in_a_schema_is_counted() -> None:
    schema = {"name": "f", "description": "word " * 1_000, "parameters": {"type": "object"}}

    assert schema_tokens([schema]) > 1_000
    assert schema_tokens([schema] * 3) > 3_000


def test_long_texts_are_told_apart_however_many_there_are() -> None:
    texts = [f"{number:04} " + "word " * (number % 7) + "x" * LONG for number in range(1_100)]

    counts = [text_tokens(text) for text in texts + texts[:7]]

    assert counts[:7] == sorted(set(counts))
    assert counts == [counts[number % 7] for number in range(1_100)] + counts[:7]
