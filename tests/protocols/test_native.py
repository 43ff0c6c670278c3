"""Native replies become messages that every endpoint takes back."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call

from graph_agent.json_text import MOST_OBJECTS
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.reply import read_reply
from graph_agent.protocols import Move
from graph_agent.protocols.native import CUT_OFF, NativeProtocol, in_native_form
from graph_agent.testing import ScriptedChatModel
from graph_agent.tools.registry import ToolRegistry

pytestmark = pytest.mark.anyio

VIEW = [HumanMessage("1 + 2?")]


async def asked(tools: ToolRegistry, reply: AIMessage, view: Sequence[Any] = VIEW) -> Move:
    protocol = NativeProtocol("Be brief.", tools, ["add"])
    return await protocol.ask(LanguageModel.of(ScriptedChatModel(replies=[reply])), view)


async def test_a_request_carries_system_messages_and_the_chosen_tools(tools: ToolRegistry) -> None:
    chat = ScriptedChatModel(replies=["3"])

    await NativeProtocol("Be brief.", tools, ["add"]).ask(LanguageModel.of(chat), VIEW)

    [asked] = chat.asked
    assert [(m.type, m.text) for m in asked.messages] == [
        ("system", "Be brief."),
        ("human", "1 + 2?"),
    ]
    assert (asked.tools, asked.streamed) == (["add"], False)


async def test_a_reply_is_kept_with_its_calls_and_reasoning(tools: ToolRegistry) -> None:
    call = tool_call(name="add", args={"a": 1}, id="c1")
    reply = AIMessage(
        [{"type": "text", "text": "Let me see."}],
        id="m",
        tool_calls=[call],
        additional_kwargs={"reasoning_content": "Two numbers.", "other": 1},
    )

    move = await asked(tools, reply)

    assert move.messages == [
        AIMessage(
            "Let me see.",
            id="m",
            tool_calls=[call],
            additional_kwargs={"reasoning_content": "Two numbers."},
        )
    ]
    assert move.reasoning == "Two numbers."


async def test_text_beside_calls_counts_as_reasoning(tools: ToolRegistry) -> None:
    call = tool_call(name="add", args={"a": 1}, id="c1")

    assert (
        await asked(tools, AIMessage("First add.", tool_calls=[call]))
    ).reasoning == "First add."
    assert (await asked(tools, AIMessage("It is 3."))).reasoning == ""


async def test_ids_that_are_missing_or_taken_are_replaced(tools: ToolRegistry) -> None:
    earlier = AIMessage("", tool_calls=[tool_call(name="add", args={}, id="old")])
    ids = ["new", "new", "old", None, ""]
    calls = [tool_call(name="add", args={}, id=call_id) for call_id in ids]

    move = await asked(tools, AIMessage("", tool_calls=calls), [*VIEW, earlier])

    [reply] = move.messages
    assert isinstance(reply, AIMessage)
    found = [str(call["id"]) for call in reply.tool_calls]
    assert found[0] == "new"
    assert all(call_id.startswith("call_") for call_id in found[1:])
    assert len(set(found)) == len(ids)


def test_arguments_that_cannot_be_read_are_answered_and_not_run(tools: ToolRegistry) -> None:
    broken = invalid_tool_call(name="add", args='{"a": ', id="c1", error="unexpected end")

    message = in_native_form(AIMessage("", invalid_tool_calls=[broken]), tools)

    assert message.tool_calls == [tool_call(name="add", args={}, id="c1")]
    assert message.additional_kwargs["invalid"] == {
        "c1": (
            'its arguments are not valid JSON (Expecting value: line 1 column 7 (char 6)): {"a": '
        )
    }


def test_calls_keep_the_order_in_which_they_were_written(tools: ToolRegistry) -> None:
    arguments = ["{", '{"a": 1}', "[1]", '{"a": 2}']
    calls = [
        {"id": f"c{place}", "function": {"name": "add", "arguments": each}}
        for place, each in enumerate(arguments)
    ]
    reply = read_reply({"choices": [{"message": {"tool_calls": calls}}]})

    message = in_native_form(reply, tools)

    assert [call["id"] for call in message.tool_calls] == ["c0", "c1", "c2", "c3"]
    assert [call["args"] for call in message.tool_calls] == [{}, {"a": 1}, {}, {"a": 2}]
    assert list(message.additional_kwargs["invalid"]) == ["c0", "c2"]


async def test_of_a_call_without_end_one_is_told_that_it_is_too_many(tools: ToolRegistry) -> None:
    text = '{"name": "add", "arguments": {"a": 1}}\n' * (MOST_OBJECTS + 1)

    move = await asked(tools, AIMessage(text))

    [message] = move.messages
    assert isinstance(message, AIMessage)
    [call] = message.tool_calls
    assert (message.text, call["name"], call["args"]) == ("", "add", {})
    assert message.additional_kwargs["invalid"] == {
        call["id"]: "it holds more than 5,000 JSON objects; write only what comes next"
    }


@pytest.mark.parametrize("metadata", [{"finish_reason": "length"}, {"stop_reason": "max_tokens"}])
def test_a_reply_that_was_cut_off_runs_no_call(
    tools: ToolRegistry, metadata: dict[str, str]
) -> None:
    call = tool_call(name="add", args={"a": 1}, id="c1")

    message = in_native_form(AIMessage("", tool_calls=[call], response_metadata=metadata), tools)

    assert message.additional_kwargs["invalid"] == {"c1": CUT_OFF}


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        pytest.param("functions.add", "add", id="prefix"),
        pytest.param("add<|channel|>commentary", "add", id="template token"),
        pytest.param("server/no such tool", "server_no_such_tool", id="unknown"),
        pytest.param("도구", "unnamed", id="nothing legal"),
        pytest.param("x" * 90, "x" * 64, id="too long"),
    ],
)
def test_names_are_kept_as_endpoints_take_them(
    tools: ToolRegistry, written: str, kept: str
) -> None:
    call = tool_call(name=written, args={}, id="c1")

    [found] = in_native_form(AIMessage("", tool_calls=[call]), tools).tool_calls

    assert found["name"] == kept


def test_what_no_checkpoint_holds_is_cleaned(tools: ToolRegistry) -> None:
    call = tool_call(name="add", args={"a": 2**80, "s": ["\ud83d"]}, id="c1")

    message = in_native_form(AIMessage("\x00", tool_calls=[call]), tools)

    assert message.text == "�"
    assert message.tool_calls[0]["args"] == {"a": str(2**80), "s": ["?"]}


def test_the_overhead_counts_system_prompt_and_schemas(tools: ToolRegistry) -> None:
    alone = NativeProtocol("Be brief.", ToolRegistry(), []).overhead()
    with_one = NativeProtocol("Be brief.", tools, ["add"]).overhead()

    assert 0 < alone < with_one < NativeProtocol("Be brief.", tools, []).overhead()
