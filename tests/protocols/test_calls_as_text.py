"""A call in a text is told from an answer that mentions one."""

import time
from contextlib import suppress

import pytest
from langchain_core.messages import AIMessage

from graph_agent.json_text import MOST_OBJECTS
from graph_agent.protocols.actions import UnreadableError, read_actions
from graph_agent.protocols.calls_as_text import is_raw_call, read_written, without_raw_calls
from graph_agent.tools.registry import ToolRegistry

ADD = '{"name": "add", "arguments": {"a": 1}}'
CALL = '{"name": "weather", "arguments": {"city": "Paris"}}'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(CALL, id="bare"),
        pytest.param(f"```json\n{CALL}\n```", id="fence"),
        pytest.param(f"I look it up:\n{CALL}", id="at the end"),
        pytest.param(f"{CALL}\n\nIt is sunny.", id="at the start"),
        pytest.param(f"{CALL}\n{CALL}\nIt is sunny.", id="two at the start"),
        pytest.param(f"Yes. <tool_call>{CALL}</tool_call> So it is.", id="tags, amid prose"),
        pytest.param('Yes: {"type": "final_answer", "answer": "3"} is it.', id="our own form"),
        pytest.param('{"type": "final_answer", "answer": "It is', id="cut answer"),
        pytest.param('{"tool": "weather", "ar', id="cut call"),
        pytest.param("<function=weather><parameter=city>Par", id="cut tags"),
        pytest.param(CALL * (MOST_OBJECTS + 1), id="without end"),
        pytest.param("{} " * (MOST_OBJECTS + 1) + CALL, id="behind many objects"),
        pytest.param('{"tool_calls": [{"function": {"name": "a", "arguments": "{}"}}]}', id="API"),
        pytest.param('{"action": "Final Answer", "action_input": "3"}', id="LangChain's form"),
    ],
)
def test_what_would_show_the_json_of_a_call(text: str) -> None:
    assert is_raw_call(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("It is 3.", id="prose"),
        pytest.param('{"name": "Bob", "age": 3}', id="data"),
        pytest.param('{"answer": 3}', id="data that was asked for"),
        pytest.param('{"name": "Bob", "parameters": "tall"}', id="data with a call's keys"),
        pytest.param('[{"type": "circle", "radius": 3}]', id="data with a type"),
        pytest.param(f"An example:\n```json\n{CALL}\n```\nSee above.", id="example"),
        pytest.param(f"With {CALL} you ask.", id="mention"),
        pytest.param("Write <function=…> or <tool_call>.", id="tags"),
        pytest.param("Action: none. {see} below", id="braces"),
        pytest.param('{"a": 1}\n' * (MOST_OBJECTS + 1), id="many objects"),
    ],
)
def test_what_is_an_answer(text: str) -> None:
    assert not is_raw_call(text)
    assert without_raw_calls(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(CALL, "", id="call"),
        pytest.param('{"type": "final_answer", "answer": "It is', "It is", id="cut answer"),
        pytest.param(f'{{"type": "final_answer", "answer": "3"}} {CALL}', "", id="beside a call"),
        pytest.param(
            r'{"answer": "{\"type\": \"final_answer\", \"answer\": 3}", "type": "final_answer"}',
            "3",
            id="within an answer",
        ),
        pytest.param(CALL * (MOST_OBJECTS + 1), "", id="without end"),
        pytest.param(
            '{"type": "final_answer", "answer": "3"}\n' * (MOST_OBJECTS + 1),
            "3",
            id="again and again",
        ),
    ],
)
def test_what_a_person_is_shown_of_it(text: str, shown: str) -> None:
    assert without_raw_calls(text) == shown


def test_the_words_before_a_call_are_kept(tools: ToolRegistry) -> None:
    for text in ("I add.\n```json\n{}\n```", "I add. <tool_call>{}</tool_call>", "I add. {}"):
        written = read_written(text.replace("{}", ADD), tools)

        assert written is not None
        assert (written.before, written.fits, written.fault) == ("I add.", True, "")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ADD * (MOST_OBJECTS + 1), id="one call without end"),
        pytest.param(
            "<function=add><parameter=a>1</parameter></function>" * (MOST_OBJECTS + 1), id="in tags"
        ),
        pytest.param(f"{'{} x ' * (MOST_OBJECTS + 1)}{ADD}", id="a call behind many objects"),
        pytest.param(f"```json\n{ADD}\n``` x " * (MOST_OBJECTS + 1), id="in fences, amid prose"),
    ],
)
def test_of_a_text_with_too_many_objects_one_call_is_told_so(
    tools: ToolRegistry, text: str
) -> None:
    written = read_written(text, tools)

    assert written is not None
    assert [call.tool for call in written.calls] == ["add"]
    assert written.fault == "it holds more than 5,000 JSON objects; write only what comes next"


@pytest.mark.parametrize(
    "piece",
    [
        " ",
        "{",
        "}",
        '"',
        "[",
        "<|",
        "{}",
        '{"a":1} x ',
        '{"a":[',
        '{"name":"a"}',
        ADD,
        f"```json\n{ADD}\n```",
        f"{ADD} x ```json\n",
        "```",
        "```json\n{}\n```",
        "<tool_call>",
        f"<tool_call>{ADD}</tool_call>",
        "<tool_call>add<arg_key>a</arg_key><arg_value>",
        "<function=a>",
        "<function=a><parameter=b>",
        "<function=a><parameter=b>1</parameter></function>",
        "<think></think>",
        "[a ",
    ],
)
def test_a_megabyte_of_garbage_takes_no_noticeable_time(tools: ToolRegistry, piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    started = time.process_time()

    read_written(text, tools)
    with suppress(UnreadableError):
        read_actions(AIMessage(text))

    # 0.01 to 0.5 on the slow machine where this was written. Without a bound on the objects `{}`
    # took 12, and the open <arg_value> minutes, for its end was looked for over and over.
    assert time.process_time() - started < 4
