"""Group C, on the wire: each server gets messages in the form that it takes."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.anyio
SetStage = Callable[..., Any]
UNMERGED = {"wire": {"system": "anywhere", "alternate_roles": False}}


def look(number: int) -> str:
    """Look at a page."""
    return f"page {number}: " + "word " * 300


@pytest.mark.parametrize("spec", [{}, UNMERGED], ids=["usual rules", "lenient rules"])
@pytest.mark.parametrize("profile", ["qwen", "mistral"])
async def test_one_system_message_and_at_the_front(
    set_stage: SetStage, speech: Any, profile: str, spec: dict[str, Any]
) -> None:
    """B42: through compaction, an interrupt and the synthesis."""
    replies = [speech.calls(("look", {"number": number})) for number in range(10)]
    stage = set_stage(
        lambda body: answer(body),
        [look],
        profile=profile,
        spec=spec,
        context_size=5_000,
        max_output_tokens=500,
        allow_malformed=bool(spec),
    )
    left = [*replies, speech.final("The end.")]

    async def answer(body: dict[str, Any]) -> Any:
        if body.get("stream"):
            return "The end."
        if len(left) == 5:
            await stage.agent.interrupt("thread", "Be quick.")
        asked_for_summary = not body.get("tools") and speech.mode == "native"
        return "A summary." if asked_for_summary else left.pop(0)

    assert await stage.answer("Read ten pages.") == "The end."

    if not spec:
        assert stage.endpoint.rejected == []
    accepted = [r for r in stage.endpoint.requests if r.rejected is None]
    for request in accepted:
        roles = [message["role"] for message in request.body["messages"]]
        assert roles.count("system") == 1
        assert roles[0] == "system"
    assert "Be quick." in accepted[-1].raw.decode()


@pytest.mark.parametrize(
    ("spec", "refusals"),
    [
        pytest.param({}, 0, id="merged from the start"),
        pytest.param(UNMERGED, 1, id="merged once it was refused"),
    ],
)
async def test_neighbours_of_one_role_are_merged(
    set_stage: SetStage, speech: Any, spec: dict[str, Any], refusals: int
) -> None:
    """B44: a request to say something, or to reformat it, and two interrupts at once."""
    stage = set_stage(
        [], [look], profile="mistral", spec=spec, allow_malformed=bool(spec), synthesis="never"
    )

    async def unreadable(_: dict[str, Any]) -> Any:
        await stage.agent.interrupt("thread", "One more thing.")
        await stage.agent.interrupt("thread", "And another.")
        return "not json at all" if speech.mode == "json" else {"content": ""}

    # An empty reply is asked again at once, an unreadable one after the interrupts are drained.
    first = [speech.final("first")] if speech.mode == "native" else []
    stage.endpoint.reply(unreadable, *first, speech.final("ok"))

    assert await stage.answer("Well?") == "ok"

    # JSON mode merges by itself: its observations are user messages.
    assert len(stage.endpoint.rejected) == (refusals if speech.mode == "native" else 0)
    said = "\n".join(content for role, content in stage.sent(-1) if role == "user")
    assert [words in said for words in ("Well?", "One more thing.", "And another.")] == [True] * 3


@pytest.mark.parametrize("speech", ["native"], indirect=True)
@pytest.mark.parametrize(
    ("profile", "wire", "contents"),
    [
        pytest.param("ollama", {}, [""], id="null refused, empty sent"),
        pytest.param("content_required", {}, [""], id="absence refused, empty sent"),
        pytest.param("bedrock", {"call_without_text": "null"}, [None], id="empty refused, told so"),
        pytest.param("bedrock", {"call_without_text": "filler"}, ["…"], id="a filler"),
        pytest.param("bedrock", {}, ["", None], id="empty refused"),
        pytest.param("ollama", {"call_without_text": "null"}, [None, ""], id="null refused"),
        pytest.param(
            "content_required",
            {"call_without_text": "absent"},
            [KeyError, ""],
            id="absence refused",
        ),
        pytest.param(
            "ollama",
            {"call_without_text": "null", "blank_texts": False},
            [None, "…"],
            id="neither null nor empty",
        ),
    ],
)
async def test_content_beside_a_call(
    set_stage: SetStage, speech: Any, profile: str, wire: dict[str, Any], contents: list[Any]
) -> None:
    """B46: a refused spelling is sent once, and never again, in this turn or the next."""
    call = {
        "content": None,
        "tool_calls": [{"id": "1", "name": "look", "arguments": '{"number":1}'}],
    }
    stage = set_stage(
        [call, "ok", "And ok."],
        [look],
        profile=profile,
        spec={"wire": wire},
        allow_malformed=True,
        synthesis="never",
    )

    answers = [await stage.answer("Look."), await stage.answer("And?")]

    assert answers == ["ok", "And ok."]
    beside = [
        message.get("content", KeyError)
        for request in stage.endpoint.requests
        for message in request.body["messages"]
        if message.get("tool_calls")
    ]
    assert beside == [*contents, contents[-1]]
    assert len(stage.endpoint.rejected) == len(contents) - 1


@pytest.mark.parametrize("profile", ["mistral", "bedrock"])
async def test_a_reply_with_neither_text_nor_calls_is_not_sent(
    set_stage: SetStage, speech: Any, profile: str
) -> None:
    """B46: servers refuse such a message, and it says nothing."""
    stage = set_stage([{"content": ""}, speech.final("Here.")], [look], profile=profile)

    assert await stage.answer("Look.") == "Here."

    assert stage.endpoint.rejected == []
