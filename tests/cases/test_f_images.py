"""Group F, its images: sent to who reads them, and never in the way of others."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from graph_agent import build_graph
from graph_agent.context.tokens import IMAGE_TOKENS, message_tokens
from graph_agent.errors import ConfigError
from graph_agent.prompts import IMAGE_LEFT_OUT
from graph_agent.question import question
from graph_agent.settings import RunOptions
from graph_agent.state import AgentInput
from graph_agent.testing import check_events

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
TEXT = {"type": "text", "text": "look"}
DATA = "A" * 400_000
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}
SEES = {"abilities": {"vision": True}, "context_size": 8_000, "max_output_tokens": 1_000}
SPELLINGS = [
    pytest.param(PICTURE, id="B62-image_url"),
    pytest.param(
        {"type": "input_image", "image_url": PICTURE["image_url"]["url"]},  # type: ignore[index]  # an image_url block
        id="B62-input_image",
    ),
    pytest.param({"type": "image", "base64": DATA, "mime_type": "image/png"}, id="B62-image"),
]


def ping() -> str:
    """Answer."""
    return "pong"


@pytest.mark.parametrize("block", SPELLINGS)
async def test_a_large_image_is_sent_and_counts_little(
    set_stage: SetStage, speech: Any, block: Any
) -> None:
    stage = set_stage(
        [speech.calls(("ping", {})), speech.final("draft"), "a cat"], [ping], spec=SEES
    )

    events = await stage.ask([TEXT, block])

    assert events[-2]["data"]["answer"] == "a cat"
    assert [event for event in events if event["event"] == "compact"] == []
    for number in (0, 1):
        sent = stage.endpoint.requests[number].body["messages"]
        assert next(m["content"] for m in sent if m["role"] == "user") == [TEXT, PICTURE]
    assert message_tokens(question([block])) < IMAGE_TOKENS + 20


async def test_the_synthesis_is_told_of_the_image_in_words(
    set_stage: SetStage, speech: Any
) -> None:
    """B62."""
    stage = set_stage(
        [speech.calls(("ping", {})), speech.final("draft"), "a cat"], [ping], spec=SEES
    )

    await stage.ask([TEXT, PICTURE])

    told = stage.sent(2)[-1][1]
    assert told.startswith("Question: look\n[image]\n")
    assert "AAAA" not in told


async def test_a_model_without_eyes_is_not_asked(set_stage: SetStage) -> None:
    """B62."""
    stage = set_stage([])

    with pytest.raises(ConfigError, match="the model `fake` reads none"):
        await stage.ask([TEXT, PICTURE])

    assert stage.endpoint.asked == 0


async def test_an_older_image_is_left_out_for_a_model_without_eyes(
    set_stage: SetStage, speech: Any
) -> None:
    """B62."""
    stage = set_stage([speech.final("a cat"), speech.final("so I said")], spec=SEES)
    await stage.ask([TEXT, PICTURE])
    model = stage.agent.model
    model.abilities = model.abilities.model_copy(update={"vision": False})

    assert await stage.answer("What was it?") == "so I said"

    note = {"type": "text", "text": IMAGE_LEFT_OUT}
    assert [content for role, content in stage.sent(1) if role == "user"] == [
        [TEXT, note],
        "What was it?",
    ]


async def test_a_refused_image_does_not_stand_in_the_way_of_the_next_question(
    set_stage: SetStage, speech: Any
) -> None:
    """B62."""
    stage = set_stage([speech.final("fine")])
    with pytest.raises(ConfigError):
        await stage.ask([TEXT, PICTURE])

    assert await stage.answer("Without it?") == "fine"

    assert [content for role, content in stage.sent(0) if role == "user"] == ["Without it?"]


@pytest.mark.parametrize("block", SPELLINGS)
async def test_a_graph_checks_its_input_too(set_stage: SetStage, speech: Any, block: Any) -> None:
    stage = set_stage([speech.final("a cat")], spec=SEES)
    native = speech.mode == "native"
    graph = build_graph(stage.agent.model, use_native_tools=native)

    result = await graph.ainvoke(AgentInput(messages=[HumanMessage([TEXT, block], id="q")]))

    assert result["messages"][0] == HumanMessage([TEXT, sent_form(block)], id="q")
    assert stage.sent(0)[-1] == ("user", [TEXT, PICTURE])
    stage.agent.model.abilities = stage.agent.model.abilities.model_copy(update={"vision": False})
    with pytest.raises(ConfigError, match="reads none"):
        await graph.ainvoke(AgentInput(messages=[HumanMessage([TEXT, block])]))


def sent_form(block: dict[str, Any]) -> dict[str, Any]:
    return block if block["type"] == "image" else PICTURE


async def test_the_model_of_the_run_decides(set_stage: SetStage, speech: Any) -> None:
    """B62."""
    stage = set_stage([speech.final("a cat")])
    seeing = stage.agent.models.specs["fake"].model_copy(update={"model": "eyes"})
    stage.agent.models.specs["eyes"] = seeing
    eyes = stage.agent.models.get("eyes")
    eyes.abilities = eyes.abilities.model_copy(update={"vision": True})

    options = RunOptions(model="eyes")
    events = [event async for event in stage.agent.stream([TEXT, PICTURE], options=options)]

    check_events(events)
    assert stage.endpoint.requests[0].body["model"] == "eyes"
