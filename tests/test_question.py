"""The user's message, as text or blocks, in a form that models are sent."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from graph_agent.errors import ConfigError
from graph_agent.question import question, sendable

DATA = "data:image/png;base64,AA=="
WEB = "https://example.org/cat.png"
TEXT = {"type": "text", "text": "look"}
PICTURE = {"type": "image_url", "image_url": {"url": DATA}}


@pytest.mark.parametrize(
    ("given", "content"),
    [
        pytest.param("look", "look", id="text"),
        pytest.param("half \ud83d", "half ?", id="half a character"),
        pytest.param(["look"], [TEXT], id="a string as a block"),
        pytest.param([TEXT], [TEXT], id="text block"),
        pytest.param([{"type": "input_text", "text": "look"}], [TEXT], id="input_text"),
        pytest.param([{"type": "text", "text": " "}, TEXT], [TEXT], id="an empty block goes"),
        pytest.param([{**TEXT, "cache_control": {"type": "x"}}], [TEXT], id="more than is known"),
        pytest.param([PICTURE], [PICTURE], id="image_url, data"),
        pytest.param(
            [{"type": "image_url", "image_url": {"url": WEB, "detail": "low"}}],
            [{"type": "image_url", "image_url": {"url": WEB, "detail": "low"}}],
            id="image_url, web",
        ),
        pytest.param([{"type": "image_url", "image_url": DATA}], [PICTURE], id="image_url, short"),
        pytest.param([{"type": "input_image", "image_url": DATA}], [PICTURE], id="input_image"),
        pytest.param(
            [{"type": "image", "url": WEB}], [{"type": "image", "url": WEB}], id="image, web"
        ),
        pytest.param(
            [{"type": "image", "source_type": "base64", "data": "AA==", "mime_type": "image/png"}],
            [{"type": "image", "base64": "AA==", "mime_type": "image/png"}],
            id="image, LangChain's old way",
        ),
        pytest.param(
            [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
                }
            ],
            [{"type": "image", "base64": "AA==", "mime_type": "image/png"}],
            id="image, Anthropic's way",
        ),
    ],
)
def test_a_message_is_put_into_a_form_that_is_sent(given: Any, content: Any) -> None:
    asked = question(given)

    assert asked.content == content
    assert asked.id is not None
    assert sendable(asked, vision=True, model="m") is asked


@pytest.mark.parametrize("given", ["", " \n", [], [""], [{"type": "text", "text": " "}]], ids=repr)
def test_an_empty_message_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="The message is empty"):
        question(given)


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        pytest.param(
            {"type": "audio", "base64": "AA=="}, "it is none that can be sent", id="audio"
        ),
        pytest.param({"text": "x"}, "it is none that can be sent", id="no type"),
        pytest.param({"type": "text", "text": 3}, "it is none that can be sent", id="no text"),
        pytest.param(3, "it is none that can be sent", id="a number"),
        pytest.param({"type": "image_url"}, "it is none that can be sent", id="no address"),
        pytest.param({"type": "image"}, "an image needs `url`", id="nothing in it"),
        pytest.param({"type": "image", "file_id": "f"}, "an image needs `url`", id="a file's id"),
        pytest.param({"type": "image", "base64": "AA=="}, "and `mime_type`", id="of no type"),
        pytest.param(
            {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
            "an image is given by an `https:` address",
            id="a file",
        ),
        pytest.param(
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}},
            "its base64 cannot be read",
            id="cut off",
        ),
        pytest.param(
            {"type": "image", "base64": "AA==", "mime_type": "text/html"},
            "an image is given by an `https:` address",
            id="no image",
        ),
    ],
)
def test_a_wrong_block_is_named(block: Any, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        question([TEXT, block])

    assert str(caught.value).startswith(f"Block 2 of the message, {str(block)[:80]}: ")
    assert fault in str(caught.value)


def test_a_callers_own_message_is_put_right_and_keeps_its_id() -> None:
    message = HumanMessage([{"type": "input_image", "image_url": DATA}], id="q")

    assert sendable(message, vision=True, model="m") == HumanMessage([PICTURE], id="q")


def test_an_image_needs_a_model_that_reads_images() -> None:
    with pytest.raises(ConfigError, match=r"the model `small` reads none\. Choose another model"):
        sendable(question([TEXT, PICTURE]), vision=False, model="small")
