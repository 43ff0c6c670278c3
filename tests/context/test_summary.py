"""One rolling summary, made in as many calls as the model's window needs."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from graph_agent.context.summary import summarized
from graph_agent.context.tokens import message_tokens, text_tokens
from graph_agent.errors import ModelError
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.retry import RetryPolicy
from graph_agent.prompts import SUMMARIZE
from graph_agent.testing import ScriptedChatModel

pytestmark = pytest.mark.anyio

CALL: Any = {"id": "c", "name": "look", "args": {"at": "서울"}, "type": "tool_call"}
TURN: list[BaseMessage] = [
    HumanMessage("Where is it?"),
    AIMessage("Let me see.", tool_calls=[CALL]),
    ToolMessage("On platform four.", tool_call_id="c"),
    AIMessage("On platform four."),
]


def model_of(*replies: Any) -> LanguageModel:
    return LanguageModel.of(
        ScriptedChatModel(replies=list(replies)), retry=RetryPolicy(max_retries=0)
    )


async def test_what_leaves_is_told_and_folded_into_the_summary_so_far() -> None:
    model = model_of("It is on platform four.")

    summary, replies = await summarized(
        model, "A train is looked for.", TURN, hint="general", room=4_000, cap=500
    )

    assert (summary, len(replies)) == ("It is on platform four.", 1)
    chat: Any = model.chat
    assert [message.text for message in chat.asked[0].messages] == [
        SUMMARIZE["general"],
        "Summary so far, to be kept and extended:\nA train is looked for.\n\n"
        "To be summed up:\n"
        "User: Where is it?\n"
        "Assistant: Let me see.\n"
        'look({"at":"서울"}) -> On platform four.\n'
        "Assistant: On platform four.",
    ]


async def test_no_request_is_larger_than_its_room() -> None:
    model = model_of(*["Some words."] * 40)
    long = [
        HumanMessage("Whoever misses it waits an hour. " * times) for times in (300, 5, 900, 90)
    ]

    await summarized(model, "", long, hint="react_iteration", room=1_500, cap=200)

    chat: Any = model.chat
    sizes = [sum(message_tokens(m) for m in asked.messages) for asked in chat.asked]
    assert len(sizes) > 1
    assert max(sizes) <= 1_500


async def test_a_summary_is_never_larger_than_its_cap() -> None:
    model = model_of("Word after word after word. " * 2_000)

    summary, _ = await summarized(model, "", TURN, hint="general", room=4_000, cap=200)

    assert 100 < text_tokens(summary) <= 200


async def test_an_empty_reply_gives_no_summary() -> None:
    summary, replies = await summarized(
        model_of("  "), "So far.", TURN, hint="general", room=4_000, cap=200
    )

    assert (summary, len(replies)) == ("", 1)


async def test_a_failure_is_raised() -> None:
    with pytest.raises(ModelError):
        await summarized(
            model_of(ConnectionError("gone")), "", TURN, hint="general", room=4_000, cap=200
        )
