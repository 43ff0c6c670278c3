"""Each rule about messages, on a body that keeps it and on bodies that break it."""

from typing import Any

import pytest

from graph_agent.testing import message_rules as rules
from graph_agent.testing.message_rules import MESSAGE_RULES, Rule

USER = {"role": "user", "content": "q"}


def call(call_id: Any = "1", name: Any = "f", arguments: Any = "{}") -> dict[str, Any]:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def calling(*calls: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)} | fields


def result(call_id: str = "1", content: Any = "R") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


PICTURE = {"type": "image_url", "image_url": {"url": "data:,"}}

ACCEPTED = [
    pytest.param([USER], id="one question"),
    pytest.param([{"role": "system", "content": "s"}, USER], id="system and user"),
    pytest.param([{"role": "developer", "content": "s"}, USER], id="developer"),
    pytest.param([USER, {"role": "assistant", "content": "a"}, USER], id="three turns"),
    pytest.param([USER, calling(call()), result()], id="one call"),
    pytest.param([USER, calling(call(), content=""), result()], id="call beside empty text"),
    pytest.param(
        [USER, {"role": "assistant", "tool_calls": [call()]}, result()], id="call without content"
    ),
    pytest.param(
        [USER, calling(call("1"), call("2")), result("2"), result("1"), USER],
        id="results in any order",
    ),
    pytest.param(
        [USER, calling(call()), result(), calling(call()), result()], id="an id used in two turns"
    ),
    pytest.param(
        [{"role": "user", "content": [{"type": "text", "text": "q"}, PICTURE]}], id="parts"
    ),
    pytest.param(
        [USER, calling(call()), result(content=[{"type": "text", "text": "R"}])],
        id="result in parts",
    ),
    pytest.param([USER, calling(call(arguments='{"a": {"b": [1]}}')), result()], id="arguments"),
]

REJECTED = [
    (rules.messages_are_given, None, "Missing required parameter: 'messages'", "no messages"),
    (rules.messages_are_given, [], "empty array", "empty messages"),
    (rules.messages_are_given, "q", "array of objects", "messages as text"),
    (rules.messages_are_given, ["q"], "array of objects", "a message as text"),
    (rules.roles_are_known, [{"content": "q"}], "'messages[0].role'", "no role"),
    (rules.roles_are_known, [USER, {"role": "bot", "content": "q"}], "'bot'", "unknown role"),
    (
        rules.contents_have_a_legal_form,
        [{"role": "user", "content": None}],
        "'messages[0].content': expected a string",
        "user says null",
    ),
    (rules.contents_have_a_legal_form, [{"role": "user"}], "got NoneType", "user says nothing"),
    (rules.contents_have_a_legal_form, [{"role": "user", "content": []}], "empty", "no parts"),
    (
        rules.contents_have_a_legal_form,
        [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}],
        "cannot hold",
        "part of another API",
    ),
    (
        rules.contents_have_a_legal_form,
        [USER, calling(call()), result(content={"a": 1})],
        "got dict",
        "result as object",
    ),
    (
        rules.contents_have_a_legal_form,
        [USER, calling(call()), result(content=[PICTURE])],
        "tool messages cannot hold",
        "picture as result",
    ),
    (
        rules.assistants_say_something,
        [USER, {"role": "assistant", "content": None}],
        "got null",
        "null without calls",
    ),
    (rules.assistants_say_something, [USER, {"role": "assistant"}], "got null", "neither"),
    (rules.calls_are_well_formed, [calling(content="")], "empty array", "no calls"),
    (rules.calls_are_well_formed, [USER | {"tool_calls": [call()]}], "assistant", "user calls"),
    (rules.calls_are_well_formed, [calling("f")], "as objects", "call as text"),
    (rules.calls_are_well_formed, [calling(call(call_id=None))], "missing 'id'", "no id"),
    (rules.calls_are_well_formed, [calling(call(call_id=""))], "missing 'id'", "empty id"),
    (rules.calls_are_well_formed, [calling(call() | {"type": "tool"})], "'type'", "other type"),
    (rules.calls_are_well_formed, [calling(call(name="a.b"))], "'a.b'", "dot in name"),
    (rules.calls_are_well_formed, [calling(call(name="n" * 65))], "does not match", "long name"),
    (rules.calls_are_well_formed, [calling(call(name="f\n"))], "does not match", "newline"),
    (rules.calls_are_well_formed, [calling(call(arguments=""))], "JSON object", "no arguments"),
    (rules.calls_are_well_formed, [calling(call(arguments='{"a'))], "JSON object", "cut arguments"),
    (rules.calls_are_well_formed, [calling(call(arguments="[1]"))], "JSON object", "a list"),
    (rules.calls_are_well_formed, [calling(call(arguments="null"))], "JSON object", "null"),
    (rules.calls_are_well_formed, [calling(call(arguments={}))], "text of a JSON", "raw object"),
    (rules.call_ids_are_unique, [calling(call("1"), call("1"))], "Duplicate", "one id twice"),
    (
        rules.tool_messages_name_their_call,
        [{"role": "tool", "content": "R"}],
        "'messages[0].tool_call_id'",
        "result without id",
    ),
    (rules.calls_and_results_are_paired, [USER, result()], "preceding message", "orphan result"),
    (
        rules.calls_and_results_are_paired,
        [calling(call()), result(), result()],
        "preceding message",
        "result given twice",
    ),
    (
        rules.calls_and_results_are_paired,
        [calling(call()), result("2")],
        "no such call waits: 2",
        "result of another call",
    ),
    (rules.calls_and_results_are_paired, [calling(call("9"))], "messages: 9", "call at the end"),
    (
        rules.calls_and_results_are_paired,
        [calling(call("1"), call("2")), result("1"), USER],
        "messages: 2",
        "one of two results",
    ),
    (
        rules.calls_and_results_are_paired,
        [calling(call()), USER, result()],
        "messages: 1",
        "user speaks between",
    ),
]


@pytest.mark.parametrize("messages", ACCEPTED)
def test_every_rule_accepts_what_every_server_accepts(messages: list[dict[str, Any]]) -> None:
    assert [rule({"messages": messages}) for rule in MESSAGE_RULES] == [None] * len(MESSAGE_RULES)


@pytest.mark.parametrize(
    ("rule", "messages", "reason"), [pytest.param(*row[:3], id=row[3]) for row in REJECTED]
)
def test_a_rule_names_what_breaks_it_and_is_the_first_to(
    rule: Rule, messages: Any, reason: str
) -> None:
    body = {"messages": messages}

    assert next(each for each in MESSAGE_RULES if each(body)) is rule
    assert reason in (rule(body) or "")


def test_every_rule_is_rejected_by_some_row() -> None:
    assert {row[0] for row in REJECTED} == set(MESSAGE_RULES)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        pytest.param(calling(call()) | {"name": "bot"}, None, id="known fields"),
        pytest.param(
            calling(call(), reasoning_content="R"),
            "Unknown parameter: 'messages[0].reasoning_content'.",
            id="reasoning",
        ),
        pytest.param(
            result() | {"name": "f"}, "Unknown parameter: 'messages[0].name'.", id="tool with name"
        ),
    ],
)
def test_message_fields_are_openais(message: dict[str, Any], reason: str | None) -> None:
    assert rules.message_fields_are_known({"messages": [message]}) == reason
