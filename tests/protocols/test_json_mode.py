"""JSON mode is a lens: native messages become plain words, and replies become native again."""

import gc
import weakref
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from pydantic import BaseModel

from graph_agent.models.language_model import LanguageModel
from graph_agent.models.spec import Abilities
from graph_agent.prompts import UNREADABLE_REASONING
from graph_agent.protocols import Move
from graph_agent.protocols.json_mode import JsonModeProtocol, as_text
from graph_agent.testing import ScriptedChatModel
from graph_agent.tools.registry import ToolRegistry

pytestmark = pytest.mark.anyio

FINAL = '{"type":"final_answer","answer":"ok"}'
CALL = tool_call(name="add", args={"a": 1}, id="c1")
QUESTION = HumanMessage("1 + 2?")
INTERRUPT = HumanMessage("[USER INTERRUPT]\nfaster", additional_kwargs={"kind": "interrupt"})


async def turn(
    tools: ToolRegistry, reply: str | AIMessage, view: Sequence[BaseMessage] = (QUESTION,)
) -> tuple[Move, list[tuple[str, Any]]]:
    """Ask once; return the move, and what was sent behind the system prompt."""
    chat = ScriptedChatModel(replies=[reply], tool_calling=False)
    protocol = JsonModeProtocol("Be brief.", tools, [], reasoning="off")
    able = Abilities(tool_call=False, json_mode=False, vision=True)
    move = await protocol.ask(LanguageModel.of(chat, abilities=able), view)
    return move, [(m.type, m.content) for m in chat.asked[0].messages[1:]]


async def test_the_whole_conversation_in_words(tools: ToolRegistry) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    view = [
        HumanMessage("1 + 2?"),
        HumanMessage([image]),
        AIMessage("Both.", tool_calls=[CALL, CALL | {"id": "c2", "args": {"a": "둘"}}]),
        ToolMessage("3", tool_call_id="c1"),
        ToolMessage("4", tool_call_id="c2"),
        INTERRUPT,
        AIMessage("so what", additional_kwargs={"kind": "unreadable"}),
        HumanMessage("Again.", additional_kwargs={"kind": "reformat"}),
        AIMessage("It is 3."),
        HumanMessage("Sure?"),
    ]

    _, sent = await turn(tools, FINAL, view)

    assert sent == [
        ("human", [{"type": "text", "text": "1 + 2?"}, image]),
        (
            "ai",
            '{"type":"tool_call","tool":"add","args":{"a":1}}\n'
            '{"type":"tool_call","tool":"add","args":{"a":"둘"}}',
        ),
        ("human", "Observation: 3\n\nObservation: 4\n\n[USER INTERRUPT]\nfaster"),
        ("ai", "so what"),
        ("human", "Again."),
        ("ai", '{"type":"final_answer","answer":"It is 3."}'),
        ("human", "Sure?"),
    ]


async def test_actions_become_native_calls(tools: ToolRegistry) -> None:
    text = '{"reasoning": "Add.", "tool": "functions.add", "args": {"a": 1}} {"tool": "pick"}'

    move, _ = await turn(tools, AIMessage(text, id="m"))

    [message] = move.messages
    assert isinstance(message, AIMessage)
    assert [(call["name"], call["args"]) for call in message.tool_calls] == [
        ("add", {"a": 1}),
        ("pick", {}),
    ]
    assert len({call["id"] for call in message.tool_calls}) == 2
    assert (message.text, message.id, move.reasoning) == ("", "m", "Add.")


async def test_an_answer_becomes_plain_text(tools: ToolRegistry) -> None:
    move, _ = await turn(tools, AIMessage(FINAL, id="m"))

    assert move.messages == [AIMessage("ok", id="m")]


async def test_reasoning_beside_the_reply_is_used_where_it_holds_none(tools: ToolRegistry) -> None:
    reply = AIMessage(FINAL, id="m", additional_kwargs={"reasoning_content": "Hm."})

    move, _ = await turn(tools, reply)

    kept = AIMessage("ok", id="m", additional_kwargs={"reasoning_content": "Hm."})
    assert (move.messages, move.reasoning) == ([kept], "Hm.")


async def test_an_unreadable_reply_is_asked_again_once_and_then_taken(tools: ToolRegistry) -> None:
    first, _ = await turn(tools, AIMessage("so what", id="m1"))
    view = [QUESTION, *first.messages, INTERRUPT]
    second, _ = await turn(tools, AIMessage("still", id="m2"), view)

    raw, request = first.messages
    assert raw == AIMessage("so what", id="m1", additional_kwargs={"kind": "unreadable"})
    assert request.additional_kwargs == {"kind": "reformat"}
    assert "it holds no JSON object" in request.text
    assert second.messages == [AIMessage("still", id="m2")]
    assert first.reasoning == second.reasoning == UNREADABLE_REASONING


async def test_a_later_unreadable_reply_is_asked_again_too(tools: ToolRegistry) -> None:
    first, _ = await turn(tools, "so what")
    view = [QUESTION, *first.messages, AIMessage("", tool_calls=[CALL])]

    move, _ = await turn(tools, "what", [*view, ToolMessage("3", tool_call_id="c1")])

    assert len(move.messages) == 2


async def test_a_reply_that_was_cut_off_runs_nothing(tools: ToolRegistry) -> None:
    text = '{"tool": "add", "args": {"a": 1}}'

    move, _ = await turn(tools, AIMessage(text, response_metadata={"finish_reason": "length"}))

    assert [type(message) for message in move.messages] == [AIMessage, HumanMessage]
    assert "cut off by the output limit" in move.messages[1].text


@pytest.mark.parametrize(
    ("reasoning", "form"),
    [
        ("first", '{"reasoning": "<why>", "type": "final_answer", "answer": "<text>"}'),
        ("last", '{"type": "final_answer", "answer": "<text>", "reasoning": "<why>"}'),
        ("off", '{"type": "final_answer", "answer": "<text>"}'),
    ],
)
async def test_the_prompt_asks_for_reasoning_where_it_is_wanted(
    tools: ToolRegistry, reasoning: Any, form: str
) -> None:
    chat = ScriptedChatModel(replies=[FINAL], tool_calling=False)
    protocol = JsonModeProtocol("Be brief.", tools, [], reasoning=reasoning)

    await protocol.ask(LanguageModel.of(chat), [QUESTION])

    assert form in chat.asked[0].messages[0].text


async def test_the_prompt_describes_the_chosen_tools(tools: ToolRegistry) -> None:
    chat = ScriptedChatModel(replies=[FINAL, FINAL], tool_calling=False)
    model = LanguageModel.of(chat)

    await JsonModeProtocol("Be brief.", tools, [], reasoning="off").ask(model, [QUESTION])
    await JsonModeProtocol("Be brief.", tools, ["pick"], reasoning="off").ask(model, [QUESTION])

    add = "- add(a: integer, b: integer): Add two numbers.\n    a: The first.\n    b: The second."
    pick = '- pick(color: "red" | "blue", tags: array of string | null): Pick a color.'
    assert f"{add}\n{pick}" in chat.asked[0].messages[0].text
    assert pick in chat.asked[1].messages[0].text
    assert "- add(" not in chat.asked[1].messages[0].text


class Place(BaseModel):
    name: str
    kind: Literal["city", "river"] | None = None


async def test_the_prompt_says_what_an_argument_holds() -> None:
    def visit(places: list[Place], how: Any) -> str:
        """Visit places."""
        return f"{places} {how}"

    chat = ScriptedChatModel(replies=[FINAL], tool_calling=False)
    protocol = JsonModeProtocol("Be brief.", ToolRegistry([visit]), [], reasoning="off")

    await protocol.ask(LanguageModel.of(chat), [QUESTION])

    signature = '- visit(places: array of {name: string, kind: "city" | "river" | null}, how: any)'
    assert signature in chat.asked[0].messages[0].text


def test_a_message_is_translated_once_and_forgotten_with_it() -> None:
    question, reply = HumanMessage("q"), AIMessage("a")
    assert as_text(question) is question
    assert as_text(reply) is as_text(reply)
    alive: list[weakref.ref[BaseMessage]] = [weakref.ref(question), weakref.ref(reply)]

    del question, reply
    gc.collect()

    assert [reference() for reference in alive] == [None, None]


async def test_joined_messages_are_forgotten_with_their_parts(tools: ToolRegistry) -> None:
    view = [HumanMessage("q1"), HumanMessage("q2")]
    await turn(tools, FINAL, view)
    alive = weakref.ref(view[0])

    del view
    gc.collect()

    assert alive() is None
