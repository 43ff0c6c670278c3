"""Whatever a tool returns becomes text that a model can read."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage
from pydantic import BaseModel

from graph_agent.tools.result_text import NO_OUTPUT, readable, result_text


class Place(BaseModel):
    name: str
    seen: datetime


@dataclass
class Point:
    x: int


class Awkward:
    """Truth and length fail; text does not."""

    def __bool__(self) -> bool:
        raise RuntimeError

    def __str__(self) -> str:
        return "awkward"


SEEN = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        pytest.param(None, NO_OUTPUT, id="None"),
        pytest.param("", NO_OUTPUT, id="empty text"),
        pytest.param(b"", NO_OUTPUT, id="no bytes"),
        pytest.param("서울\n", "서울\n", id="text"),
        pytest.param("half \ud83d, \x00", "half ?, �", id="surrogate and NUL"),
        pytest.param(0, "0", id="zero"),
        pytest.param(False, "false", id="False"),
        pytest.param([], "[]", id="empty list"),
        pytest.param({}, "{}", id="empty dict"),
        pytest.param(["a", "b"], '["a","b"]', id="texts"),
        pytest.param(
            {"도시": "서울", "at": SEEN},
            '{"도시":"서울","at":"2026-01-02T00:00:00+00:00"}',
            id="data",
        ),
        pytest.param(SEEN, "2026-01-02T00:00:00+00:00", id="datetime"),
        pytest.param(PurePosixPath("/a/b"), "/a/b", id="path"),
        pytest.param("서울".encode(), "서울", id="bytes of text"),
        pytest.param(b"\xff\x00", "(2 bytes that are no text)", id="bytes"),
        pytest.param({"b": b"\xff"}, '{"b":"(1 bytes that are no text)"}', id="bytes within"),
        pytest.param({3, 1, 2}, "[1,2,3]", id="set"),
        pytest.param(
            Place(name="서울", seen=SEEN),
            '{"name":"서울","seen":"2026-01-02T00:00:00Z"}',
            id="pydantic",
        ),
        pytest.param([Point(1)], '[{"x":1}]', id="dataclass"),
        pytest.param(float("nan"), "nan", id="NaN"),
        pytest.param({1: "a", None: "b"}, '{"1":"a","null":"b"}', id="keys that are no text"),
        pytest.param(10**30, str(10**30), id="huge number"),
        pytest.param({"n": 10**30}, f'{{"n": {10**30}}}', id="huge number within"),
        pytest.param({"s": "\ud83d"}, '{"s": "?"}', id="surrogate within"),
        pytest.param({(1, 2): "a"}, "{(1, 2): 'a'}", id="keys that JSON cannot have"),
        pytest.param(Awkward(), "awkward", id="object without truth"),
    ],
)
def test_result_text(result: object, text: str) -> None:
    assert result_text(result) == text


DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@settings(max_examples=50)
@given(st.lists(DATA, min_size=1))
def test_data_can_be_read_back(data: list[Any]) -> None:
    assert json.loads(result_text(data)) == data


BLOCKS = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
MESSAGE = ToolMessage("R", tool_call_id="c")


@pytest.mark.parametrize("result", [BLOCKS, MESSAGE], ids=["blocks", "message"])
def test_content_blocks_and_messages_stay(result: object) -> None:
    assert readable(result) == result


def test_data_with_a_type_of_its_own_are_no_blocks() -> None:
    assert readable([{"type": "file", "name": "a"}]) == '[{"type":"file","name":"a"}]'
