"""A call in place of an answer is held back; an answer is passed on as it comes."""

from collections.abc import Sequence

import pytest

from graph_agent.errors import ModelError
from graph_agent.nodes.shown_text import ShownText
from graph_agent.tools.registry import ToolRegistry


def look(n: int) -> str:
    """Look."""
    return str(n)


def shown(pieces: Sequence[str]) -> list[str]:
    text = ShownText(ToolRegistry([look]))
    return [part for part in [*map(text.more, pieces), text.rest()] if part]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(["Hel", "lo"], ["Hel", "lo"], id="words"),
        pytest.param(["\n", " Hello"], ["\n Hello"], id="space first"),
        pytest.param(["<", "b>bold</b>"], ["<b>bold</b>"], id="another tag"),
        pytest.param(["`", "code` is"], ["`code` is"], id="inline code"),
        pytest.param(["```", "python\n", "x = 1\n```"], ["```python\nx", " = 1\n```"], id="code"),
        pytest.param(["# Title\n", '{"a": 1}'], ["# Title\n", '{"a": 1}'], id="data after words"),
        pytest.param(['{"name": ', '"Ann"}'], ['{"name": "Ann"}'], id="data"),
        pytest.param(["[1, ", "2]"], ["[1, 2]"], id="a list"),
        pytest.param(["[a link](", "http://x)"], ["[a link](http://x)"], id="a link"),
        pytest.param(['{"type": "final_answer", "answer": "42"}'], ["42"], id="a wrapped answer"),
        pytest.param(["{not JSON"], ["{not JSON"], id="a brace"),
    ],
)
def test_an_answer_is_shown(pieces: list[str], expected: list[str]) -> None:
    assert "".join(shown(pieces)) == "".join(expected)


def test_words_are_not_held() -> None:
    text = ShownText(ToolRegistry([look]))

    assert [text.more(piece) for piece in ("The ", "answer ", "{is} ")] == [
        "The ",
        "answer ",
        "{is} ",
    ]


CALL = '{"name": "look", "arguments": {"n": 9}}'


@pytest.mark.parametrize(
    "whole",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"<tool_call>{CALL}</tool_call>",
        f"[{CALL}]",
        f"Let me look.\n{CALL}",
        '{"type": "tool_call", "tool": "unknown", "args": {}}',
        '{"type": "tool_call", "tool": "look", "args": {"n',
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_call_is_no_answer(whole: str, size: int) -> None:
    with pytest.raises(ModelError, match="in place of an answer"):
        shown([whole[start : start + size] for start in range(0, len(whole), size)])


def test_nothing_of_a_call_is_shown_before_that_is_known() -> None:
    text = ShownText(ToolRegistry([look]))

    assert {text.more(letter) for letter in f"```json\n{CALL}\n```"} == {""}
