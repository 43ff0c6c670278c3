"""Actions are read in every usual spelling, and nothing else is taken for one."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graph_agent.json_text import MOST_OBJECTS
from graph_agent.protocols.actions import Action, Actions, UnreadableError, read_actions

ADD = Action(tool="add", args={"a": 1})
CALL = '{"type": "tool_call", "tool": "add", "args": {"a": 1}}'
FINAL = '{"type": "final_answer", "answer": "3"}'


def calls(*found: Action, reasoning: str = "") -> Actions:
    return Actions(calls=list(found), answer="", reasoning=reasoning)


def answer(text: str, reasoning: str = "") -> Actions:
    return Actions(calls=[], answer=text, reasoning=reasoning)


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        pytest.param(CALL, calls(ADD), id="type, tool, args"),
        pytest.param('{"name": "add", "arguments": {"a": 1}}', calls(ADD), id="name, arguments"),
        pytest.param('{"action": "add", "action_input": {"a": 1}}', calls(ADD), id="action"),
        pytest.param(
            r'{"tool": "add", "args": "{\"a\": 1}"}', calls(ADD), id="double-encoded arguments"
        ),
        pytest.param('{"tool": "now"}', calls(Action(tool="now", args={})), id="no arguments"),
        pytest.param(
            '{"tool": "now", "args": null}', calls(Action(tool="now", args={})), id="null"
        ),
        pytest.param(
            '{"tool": "now", "args": " "}', calls(Action(tool="now", args={})), id="blank"
        ),
        pytest.param(f"Both: {CALL}\n{CALL}", calls(ADD, ADD), id="several, amid prose"),
        pytest.param(f"[{CALL}, {CALL}]", calls(ADD, ADD), id="list"),
        pytest.param(FINAL + CALL, calls(ADD), id="a call wins over an answer"),
        pytest.param(
            CALL.replace("{", '{"reasoning": "why", ', 1),
            calls(ADD, reasoning="why"),
            id="reasoning",
        ),
        pytest.param(CALL.replace("{", '{"reasoning": null, ', 1), calls(ADD), id="null reasoning"),
        pytest.param(FINAL, answer("3"), id="answer"),
        pytest.param('{"answer": "3", "reasoning": "why"}', answer("3", "why"), id="bare answer"),
        pytest.param(
            '{"tool": "final_answer", "args": {"answer": "3"}}', answer("3"), id="answer as a tool"
        ),
        pytest.param(
            '{"tool": "final_answer", "args": "It is 3."}', answer("It is 3."), id="bare argument"
        ),
        pytest.param(
            r'{"name": "final_answer", "arguments": "{\"answer\": \"3\"}"}',
            answer("3"),
            id="answer as a double-encoded call",
        ),
        pytest.param(
            '{"type": "final_answer", "answer": {"서울": 3}}', answer('{"서울": 3}'), id="data"
        ),
        pytest.param(
            '{"name": "Bob", "age": 3}\n' + FINAL, answer("3"), id="data with a name is no call"
        ),
        pytest.param(
            r'{"tool": "f", "args": {"n": 1000000000000000000000, "s": "\ud83d\u0000"}}',
            calls(Action(tool="f", args={"n": "1000000000000000000000", "s": "?�"})),
            id="what no checkpoint holds",
        ),
    ],
)
def test_read_actions(text: str, actions: Actions) -> None:
    assert read_actions(AIMessage(text)) == actions


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        pytest.param(AIMessage("so what"), "it holds no JSON object", id="prose"),
        pytest.param(
            AIMessage('{"name": "Bob", "age": 3}'),
            "its JSON object is neither a tool_call nor a final_answer",
            id="data",
        ),
        pytest.param(
            AIMessage('{"type": "final_answer"}'),
            "its JSON object is neither a tool_call nor a final_answer",
            id="answer without text",
        ),
        pytest.param(
            AIMessage("{} " * (MOST_OBJECTS + 1) + CALL),
            "it holds more than 5,000 JSON objects; write only what comes next",
            id="too many objects",
        ),
        pytest.param(
            AIMessage('{"tool": "add", "args": [1]}'),
            "the arguments of `add` are no JSON object",
            id="list as arguments",
        ),
        *(
            pytest.param(
                AIMessage(CALL, response_metadata=metadata),
                "it was cut off by the output limit; write less",
                id=f"cut off: {metadata}",
            )
            for metadata in ({"finish_reason": "length"}, {"stop_reason": "max_tokens"})
        ),
    ],
)
def test_an_unreadable_reply_says_what_is_wrong(reply: AIMessage, fault: str) -> None:
    with pytest.raises(UnreadableError) as raised:
        read_actions(reply)

    assert str(raised.value) == fault


def test_a_type_other_than_text_is_no_name() -> None:
    reply: Any = AIMessage('{"tool": 3, "args": {}}')

    with pytest.raises(UnreadableError, match="neither"):
        read_actions(reply)
