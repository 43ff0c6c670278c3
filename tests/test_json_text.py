"""Objects survive whatever stands around them, and garbage costs linear time."""

import json
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graph_agent.json_text import MOST_BRACES, MOST_OBJECTS, find_objects, scan

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)
TRICKY = {
    "latex": r"\frac{1}{2} and \(x\)",
    "code": "```json\n{}\n```",
    "think": "<think>{}</think>",
    "quote": 'what\'s "new"',
    "brace": "}{",
}
WRAPPINGS = [
    pytest.param("{}", id="alone"),
    pytest.param("Here it is: {}. Done.", id="prose"),
    pytest.param("```json\n{}\n```", id="fence with language"),
    pytest.param("```\n{}\n```", id="fence"),
    pytest.param("I do ```json{}``` ok?", id="fence in one line"),
    pytest.param("<think>I could {use} it, it's fine.</think>\n{}", id="think block"),
    pytest.param('<think>{"tool": "never"} or {"tool": "</think>{}', id="broken JSON in thought"),
    pytest.param('{"tool": "never"} so</think>{}', id="thought whose start is in the prompt"),
    pytest.param('For {project} and {0} on a 5" screen: {} as {planned}', id="braces and quotes"),
    pytest.param("Open { and go: {}", id="unbalanced brace"),
    pytest.param("[{}]", id="list"),
]


def wrapped(wrapping: str, data: object) -> str:
    return wrapping.replace("{}", json.dumps(data, ensure_ascii=False), 1)


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@settings(max_examples=50)
@given(data=OBJECTS)
@example(data=TRICKY)
def test_a_valid_object_survives_its_wrapping(wrapping: str, data: dict[str, Any]) -> None:
    assert find_objects(wrapped(wrapping, data)) == [data]


@settings(max_examples=50)
@given(items=st.lists(OBJECTS, min_size=1, max_size=4), between=st.text(alphabet=" \n,.;ab\"'"))
def test_several_objects_come_in_order(items: list[dict[str, Any]], between: str) -> None:
    text = between.join(json.dumps(item) for item in items)

    assert find_objects(text) == items


@settings(max_examples=50)
@given(data=OBJECTS.filter(bool))
def test_an_object_inside_a_broken_one_is_never_taken_for_it(data: dict[str, Any]) -> None:
    text = f'{{"outer": {json.dumps(data)},}}'

    assert all(list(found) == ["outer"] for found in find_objects(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("no JSON here", [], id="prose"),
        pytest.param("for {x} in {y, z", [], id="not quite objects"),
        pytest.param("[1, 2]", [], id="list of numbers"),
        pytest.param('<think>So: {"a": 1}', [{"a": 1}], id="unclosed think block"),
        pytest.param(
            '{"note": "list: [a,] and {b,}", "n": [1, 2,],}',
            [{"note": "list: [a,] and {b,}", "n": [1, 2]}],
            id="trailing commas",
        ),
        pytest.param(
            '{"tool": "a", "args": {"tool": "b", "args": {}},}',
            [{"tool": "a", "args": {"tool": "b", "args": {}}}],
            id="trailing comma after a nested object",
        ),
        pytest.param(
            "{'q': \"what's new\", 'deep': True, 'lim': None, 'brace': 'a}b'}",
            [{"q": "what's new", "deep": True, "lim": None, "brace": "a}b"}],
            id="Python literals",
        ),
        pytest.param(
            '{\n "action": "get", // fetch it\n "args": {"url": "https://x.test/a#b"}  # page\n}',
            [{"action": "get", "args": {"url": "https://x.test/a#b"}}],
            id="comments, URL kept",
        ),
        pytest.param('{"a": "1\n2\t3"}', [{"a": "1\n2\t3"}], id="raw newline and tab"),
        pytest.param('Go: {"a": "1\n2"}', [{"a": "1\n2"}], id="raw newline amid prose"),
        pytest.param('{"a": "He said "no"."}', [{"a": 'He said "no".'}], id="unescaped quotes"),
        pytest.param('{"a": "x "y" \\n"}', [{"a": 'x "y" \n'}], id="line break at the end"),
        pytest.param('{"a": "x "y"\n", b: 1}', [{"a": 'x "y"\n', "b": 1}], id="raw line break"),
        pytest.param(
            r"""{'a\u000a': 'C:\\new\n', b: two }""",
            [{"a\n": "C:\\new\n", "b": "two"}],
            id="line breaks, and a backslash before an n",
        ),
        pytest.param(r'{"a": "\(x\) \alpha"}', [{"a": r"\(x\) \alpha"}], id="wrong escapes"),
        pytest.param(r'{"a": "it\'s"}', [{"a": "it's"}], id="an apostrophe needs no escape"),
        pytest.param('{"a": {"b": 1}', [{"a": {"b": 1}}], id="missing brace at the end"),
        pytest.param('```\n{"a": "b"\n```\nOk?', [{"a": "b"}], id="missing brace in a fence"),
        pytest.param('{tool: "a", args: {}}', [{"tool": "a", "args": {}}], id="bare keys"),
        pytest.param('{"a": 1} {"b": 2,}', [{"a": 1}, {"b": 2}], id="valid, then mended"),
        pytest.param('{"a": 1}<think>{"b": 2}</think>{"c": 3}', [{"a": 1}, {"c": 3}], id="amid"),
    ],
)
def test_find_objects(text: str, found: list[dict[str, Any]]) -> None:
    assert find_objects(text) == found


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        pytest.param('{"a": 1}', True, id="valid"),
        pytest.param('{"a": "b", "n": [1, 2,],}', True, id="trailing commas"),
        pytest.param("{'a': 'it\\'s', 'b': None, 'c': (1,)}", True, id="Python"),
        pytest.param('{"a": 1.50, // so\n "b": "x // y"}', True, id="comments"),
        pytest.param('{"a": "He said "no"."}', True, id="unescaped quotes"),
        pytest.param(r'{"a": "\ud83d\ude00 "b""}', True, id="half characters"),
        pytest.param("{a: 1, b: two}", True, id="bare words"),
        pytest.param('{"a": "b', False, id="ends inside a text"),
        pytest.param('{"a": {"b": 1}', False, id="ends without its brace"),
        pytest.param('{"a": 12', False, id="ends within a number"),
        pytest.param('{"a": }', False, id="a value is missing"),
        pytest.param('{"a": 1, ...}', False, id="left out by the model"),
        pytest.param('{"a": """x"""}', False, id="three quotes"),
        pytest.param("""{"a":' "rain", "b": 1}""", False, id="a quote too many before a text"),
        pytest.param('{"a":00}', False, id="zeros before a number"),
        pytest.param('{"a": "\ue000 "x" y"}', False, id="what stands for a line break"),
    ],
)
def test_only_what_was_read_whole_and_without_a_guess_is_sound(text: str, *, sound: bool) -> None:
    assert [found.sound for found in scan(f"So: {text}")] == [sound]


@pytest.mark.parametrize("text", ["{'q': {1, 2}}", "{'q': b'x'}", "{'q': 1+2j}", "{'q': ...}"])
def test_python_that_json_cannot_hold_is_not_read(text: str) -> None:
    assert scan(text) == []


@settings(max_examples=200)
@given(data=OBJECTS.filter(bool), share=st.floats(0, 1, exclude_max=True))
def test_no_part_of_an_object_is_sound(data: dict[str, Any], share: float) -> None:
    text = json.dumps(data)

    assert not any(found.sound for found in scan(text[: int(len(text) * share)]))


@settings(max_examples=50)
@given(st.text() | st.text(alphabet="{}[]\"'\\:, \n<>/think`a1"))
@example('{{"```json|{"“```json')  # json_repair fails an assertion of its own
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert all(isinstance(found, dict) for found in find_objects(text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": 1} x ' * (MOST_OBJECTS + 9), id="amid prose"),
        pytest.param(f"[{{}}{', {}' * (MOST_OBJECTS + 9)}]", id="list"),
    ],
)
def test_of_too_many_objects_one_more_than_is_looked_at_is_found(text: str) -> None:
    assert len(scan(text)) == MOST_OBJECTS + 1


def test_as_many_objects_as_are_looked_at_are_all_found() -> None:
    assert len(scan("{} " * MOST_OBJECTS)) == MOST_OBJECTS


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "}",
        '"',
        '{"',
        "{'",
        '{"a":',
        '{"a"}',
        '{"a":[',
        "{x}",
        '\\"',
        "<think>",
        "</think>",
        "<think></think>",
        "{}",
        '{"a":1} x ',
        "{a:1}\n",
    ],
)
def test_a_megabyte_of_garbage_takes_no_noticeable_time(piece: str) -> None:
    text = '{"' + piece * (1_000_000 // len(piece))
    started = time.process_time()

    find_objects(text)

    # 0.02 to 0.13 on the slow machine where this was written; square time takes minutes.
    assert time.process_time() - started < 2


def test_what_would_take_long_to_mend_is_left_alone() -> None:
    few, many = (f'{{"a": [{"{b: 1}, " * count}],}}' for count in (9, MOST_BRACES))

    assert (len(scan(f"So: {few}")), scan(f"So: {many}")) == (1, [])


@pytest.mark.parametrize("depth", [1_100, 100_000])
def test_nesting_beyond_the_recursion_limit_is_no_error(depth: int) -> None:
    assert find_objects('{"a":' * depth) == []
    assert find_objects('{"a":' * depth + "1" + "}" * depth) == []
