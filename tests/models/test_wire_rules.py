"""Each flag has its effect on the wire, and nothing that was said is lost."""

from typing import Any

import orjson
import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call

from graph_agent.models.registry import ModelRegistry
from graph_agent.models.spec import Abilities, ModelSpec
from graph_agent.models.wire import Encoder, encoder_for, request_body, shaped
from graph_agent.models.wire_rules import WireRules, rules_for


def calling(content: str = "", call_id: str = "c1", reasoning: str = "") -> AIMessage:
    kept = {"reasoning_content": reasoning} if reasoning else {}
    calls = [tool_call(name="f", args={}, id=call_id)]
    return AIMessage(content, tool_calls=calls, additional_kwargs=kept)


def sent(messages: list[BaseMessage], **flags: Any) -> list[dict[str, Any]]:
    body = request_body({}, messages, WireRules(**flags))
    wire: list[dict[str, Any]] = orjson.loads(body)["messages"]
    for message in wire:
        message.pop("tool_calls", None)
    return wire


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def system(content: str) -> dict[str, Any]:
    return {"role": "system", "content": content}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


A, B = HumanMessage("a"), HumanMessage("b")
ONE, TWO = SystemMessage("one"), SystemMessage("two")
RESULT = ToolMessage("", tool_call_id="c1")
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
TEXT = {"type": "text", "text": "t"}
ACTS, THINKS = AIMessage("x"), AIMessage("y", additional_kwargs={"reasoning_content": "r"})


@pytest.mark.parametrize(
    ("flags", "messages", "wire"),
    [
        ({}, [ONE, A, TWO], [system("one\n\ntwo"), user("a")]),
        ({"system": "anywhere"}, [ONE, A, TWO], [system("one"), user("a"), system("two")]),
        ({"system": "user"}, [ONE, A, TWO], [user("one\n\ntwo\n\na")]),
        ({"system": "user"}, [ONE, ACTS], [user("one"), assistant("x")]),
        ({"system": "user"}, [ONE], [user("one")]),
        ({}, [SystemMessage(""), A], [user("a")]),
        ({}, [A, B, ACTS, THINKS], [user("a\n\nb"), assistant("x\n\ny")]),
        ({}, [A, AIMessage(" "), B], [user("a\n\nb")]),
        ({}, [A, HumanMessage([PICTURE])], [user([{"type": "text", "text": "a"}, PICTURE])]),
        ({}, [HumanMessage([PICTURE]), A], [user([PICTURE, {"type": "text", "text": "a"}])]),
        ({}, [ACTS, calling()], [assistant("x")]),
        ({"alternate_roles": False}, [A, B], [user("a"), user("b")]),
        ({"alternate_roles": False}, [A, AIMessage("")], [user("a")]),
        (
            {"user_first": True},
            [ONE, ACTS, A],
            [system("one"), user("(The conversation begins.)"), assistant("x"), user("a")],
        ),
        (
            {"user_first": True, "system": "anywhere"},
            [ONE, ACTS],
            [system("one"), user("(The conversation begins.)"), assistant("x")],
        ),
        ({"user_first": True}, [ONE, A], [system("one"), user("a")]),
        ({"user_first": True}, [ONE], [system("one"), user("(The conversation begins.)")]),
        ({}, [A, ACTS], [user("a"), assistant("x")]),
        ({"assistant_last": False}, [A, ACTS], [user("a"), assistant("x"), user("Go on.")]),
        ({"assistant_last": False}, [A], [user("a")]),
        ({}, [calling()], [assistant("")]),
        ({"call_without_text": "null"}, [calling(" \n")], [assistant(None)]),
        ({"call_without_text": "absent"}, [calling()], [{"role": "assistant"}]),
        ({"call_without_text": "filler"}, [calling()], [assistant("…")]),
        ({"call_without_text": "null"}, [calling("x")], [assistant("x")]),
        ({"call_without_text": "null"}, [AIMessage(""), calling()], [assistant(None)]),
        ({"blank_texts": False}, [HumanMessage(" ")], [user("…")]),
        ({"content_lists": False}, [HumanMessage(["a", TEXT])], [user("a\n\nt")]),
        (
            {"content_lists": False},
            [HumanMessage([TEXT, PICTURE])],
            [user("t\n\n[image left out: this model reads no images]")],
        ),
        (
            {"images": False},
            [HumanMessage([PICTURE])],
            [user([{"type": "text", "text": "[image left out: this model reads no images]"}])],
        ),
        ({}, [calling(reasoning="r")], [assistant("")]),
        (
            {"reasoning_back": "calls"},
            [calling(reasoning="r"), RESULT, calling(), RESULT, THINKS],
            [
                assistant("", reasoning_content="r"),
                {"role": "tool", "tool_call_id": "c1", "content": ""},
                assistant(""),
                {"role": "tool", "tool_call_id": "c1", "content": ""},
                assistant("y"),
            ],
        ),
        ({"reasoning_back": "every_call"}, [calling()], [assistant("", reasoning_content="")]),
        ({"reasoning_back": "every_call"}, [THINKS], [assistant("y")]),
        (
            {"reasoning_back": "always", "reasoning_key": "reasoning"},
            [ACTS, THINKS],
            [assistant("x\n\ny", reasoning="r")],
        ),
    ],
)
def test_messages(
    flags: dict[str, Any], messages: list[BaseMessage], wire: list[dict[str, Any]]
) -> None:
    assert sent(messages, **flags) == wire


def test_short_ids_stay_pairs() -> None:
    given = ["call_1", "call_2", "abcDEF123"]
    thread: list[BaseMessage] = []
    for call_id in given:
        thread += [calling(call_id=call_id), ToolMessage("r", tool_call_id=call_id)]

    body = orjson.loads(request_body({}, thread, WireRules(short_ids=True)))["messages"]

    called = [m["tool_calls"][0]["id"] for m in body[::2]]
    assert called == [m["tool_call_id"] for m in body[1::2]]
    assert [len(call_id) for call_id in called] == [9, 9, 9]
    assert len(set(called)) == 3
    assert called[2] == "abcDEF123"


TOOLS: dict[str, Any] = {"tools": [{}]}
NAMED = {"type": "function", "function": {"name": "f"}}
SCHEMA = {"type": "json_schema", "json_schema": {}}
OBJECT = {"type": "json_object"}


@pytest.mark.parametrize(
    ("flags", "given", "shape"),
    [
        ({}, {"max_tokens": 5}, {"max_tokens": 5}),
        (
            {"token_limit": "max_completion_tokens"},
            {"max_tokens": 5},
            {"max_completion_tokens": 5},
        ),
        ({"temperature": False}, {"temperature": 0, "seed": 1}, {"seed": 1}),
        ({"parallel_tool_calls": False}, {"parallel_tool_calls": True}, {}),
        ({"stream_usage": False}, {"stream": True, "stream_options": {}}, {"stream": True}),
        ({}, TOOLS | {"tool_choice": NAMED}, TOOLS | {"tool_choice": NAMED}),
        (
            {"forced_tool_choice": "required"},
            TOOLS | {"tool_choice": NAMED},
            TOOLS | {"tool_choice": "required"},
        ),
        ({"forced_tool_choice": "auto"}, TOOLS | {"tool_choice": NAMED}, TOOLS),
        (
            {"forced_tool_choice": "auto"},
            TOOLS | {"tool_choice": "none"},
            TOOLS | {"tool_choice": "none"},
        ),
        ({}, {"response_format": SCHEMA}, {"response_format": SCHEMA}),
        ({"json_schema": False}, {"response_format": SCHEMA}, {"response_format": OBJECT}),
        ({"json_schema": False, "json_object": False}, {"response_format": SCHEMA}, {}),
        ({"json_object": False}, {"response_format": SCHEMA}, {"response_format": SCHEMA}),
        ({"json_object": False}, {"response_format": OBJECT}, {}),
        ({"json_beside_tools": False}, TOOLS | {"response_format": OBJECT}, TOOLS),
        ({"json_beside_tools": False}, {"response_format": OBJECT}, {"response_format": OBJECT}),
    ],
)
def test_parameters(flags: dict[str, Any], given: dict[str, Any], shape: dict[str, Any]) -> None:
    assert shaped(given, WireRules(**flags)) == shape


def test_what_is_merged_is_encoded_once_and_anew_where_it_grew() -> None:
    encoder = encoder_for(WireRules())
    third = HumanMessage("c")

    (first,), (again,), (longer,) = (
        list(encoder.pieces(group)) for group in ([A, B], [A, B], [A, B, third])
    )

    assert first is again
    assert [orjson.loads(data)["content"] for data in (first, longer)] == ["a\n\nb", "a\n\nb\n\nc"]


@pytest.mark.parametrize(
    ("base_url", "known"),
    [
        ("http://127.0.0.1:8080/v1", {}),
        ("http://127.0.0.1:11434/v1", {}),
        (
            "https://api.openai.com/v1/",
            {
                "system": "anywhere",
                "alternate_roles": False,
                "token_limit": "max_completion_tokens",
            },
        ),
        ("https://api.deepseek.com/v1", {"reasoning_back": "every_call", "json_schema": False}),
        (
            "https://api.mistral.ai/v1",
            {"short_ids": True, "user_first": True, "assistant_last": False},
        ),
        (
            "https://api.groq.com/openai/v1",
            {"system": "anywhere", "alternate_roles": False, "json_beside_tools": False},
        ),
        (
            "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1",
            {"blank_texts": False, "call_without_text": "null", "user_first": True},
        ),
        ("https://api.moonshot.ai/v1", {"reasoning_back": "every_call"}),
        ("https://example.org/?not=.deepseek.com", {}),
    ],
)
def test_servers_that_are_known(base_url: str, known: dict[str, Any]) -> None:
    assert rules_for(base_url) == WireRules(**known)


def test_what_the_config_file_says_goes_over_what_is_known() -> None:
    spec = ModelSpec(
        model="m", base_url="https://api.deepseek.com/v1", wire={"reasoning_back": "never"}
    )
    chat: Any = ModelRegistry({"m": spec}, environ={}).get("m").chat

    assert chat.endpoint.rules == WireRules(json_schema=False)


@pytest.mark.parametrize(
    ("wire", "fault"),
    [
        ({"sistem": "first"}, "`sistem`: unexpected keyword argument; the wire rules are system, "),
        ({"system": "last"}, "`system`: input should be 'anywhere', 'first' or 'user'; "),
        ({"tools": "maybe"}, "`tools`: input should be a valid boolean"),
    ],
)
def test_a_flag_that_does_not_exist_is_an_error(wire: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match="wire") as caught:
        ModelSpec(model="m", wire=wire)

    assert fault in str(caught.value)


def test_abilities_lack_what_the_endpoint_refused() -> None:
    able = Abilities(json_schema=True, vision=True)
    refused = WireRules(tools=False, json_schema=False, json_object=False, images=False)

    assert able.within(WireRules()) == able
    assert able.within(refused) == Abilities(tool_call=False, json_mode=False)


def test_a_request_that_differs_in_the_middle_is_arranged_anew() -> None:
    first, long, last = HumanMessage("q"), AIMessage("a" * 90), HumanMessage("r")
    encoder = Encoder(WireRules())
    encoder.pieces([first, long, last])

    pieces = encoder.pieces([first, AIMessage("short"), last])

    assert [orjson.loads(piece)["content"] for piece in pieces] == ["q", "short", "r"]


def test_what_a_request_adds_may_join_its_last_place() -> None:
    first, second, third = HumanMessage("1"), HumanMessage("2"), HumanMessage("3")
    encoder = Encoder(WireRules())

    grown = [list(encoder.pieces(group)) for group in ([first, second], [first, second, third])]

    assert [[orjson.loads(piece)["content"] for piece in pieces] for pieces in grown] == [
        ["1\n\n2"],
        ["1\n\n2\n\n3"],
    ]
