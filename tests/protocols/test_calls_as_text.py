"""A call in a text is told from an answer that mentions one."""

import time

import pytest

from graph_agent.protocols.calls_as_text import is_raw_call, read_written, without_raw_calls
from graph_agent.tools.registry import ToolRegistry

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
    ],
)
def test_what_a_person_is_shown_of_it(text: str, shown: str) -> None:
    assert without_raw_calls(text) == shown


def test_the_words_before_a_call_are_kept(tools: ToolRegistry) -> None:
    for text in ("I add.\n```json\n{}\n```", "I add. <tool_call>{}</tool_call>", "I add. {}"):
        written = read_written(text.replace("{}", '{"name": "add", "args": {"a": 1}}'), tools)

        assert written is not None
        assert (written.before, written.fits, written.sound) == ("I add.", True, True)


@pytest.mark.parametrize(
    "piece",
    [
        "<function=a>",
        "<function=a><parameter=b>",
        "```",
        "<tool_call>",
        "{}",
        '{"name":"a"}',
        "[a ",
    ],
)
def test_garbage_takes_no_noticeable_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.process_time()

    is_raw_call(text)

    # 0.01 to 0.6 on the slow machine where this was written; square time takes a minute.
    assert time.process_time() - started < 5
