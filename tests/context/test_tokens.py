"""Counts are estimates on the high side, and never fail."""

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from graph_agent.context.tokens import (
    IMAGE_TOKENS,
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
        pytest.param(AIMessage("", tool_calls=[CALL]), 50, id="call"),
    ],
)
def test_message_tokens(message: BaseMessage, tokens: int) -> None:
    assert tokens <= message_tokens(message) - MESSAGE_OVERHEAD <= tokens + 2


def test_no_schemas_take_nothing() -> None:
    assert schema_tokens([]) == 0
    assert schema_tokens([{"name": "f"}]) > 0
