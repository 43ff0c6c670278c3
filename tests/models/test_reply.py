import re
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import invalid_tool_call, tool_call

from graph_agent.errors import ModelError
from graph_agent.models.reply import in_order, read_arguments, read_reply, read_usage


def body(message: dict[str, Any] | None, finish_reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish_reason}]}


def call(arguments: object, **more: Any) -> dict[str, Any]:
    return {"id": "c1", "function": {"name": "f", "arguments": arguments}} | more


def message(content: str = "", finish_reason: str = "stop", **parts: Any) -> AIMessage:
    return AIMessage(content, response_metadata={"finish_reason": finish_reason}, **parts)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(body({"content": "hi"}), message("hi"), id="text"),
        pytest.param(body({"content": None}), message(), id="null"),
        pytest.param(body(None), message(), id="no message"),
        pytest.param(body({"content": "hal"}, "length"), message("hal", "length"), id="cut text"),
        pytest.param(
            body({"content": "hi", "reasoning_content": "hm"}),
            message("hi", additional_kwargs={"reasoning_content": "hm"}),
            id="reasoning apart",
        ),
        pytest.param(
            body({"content": "hi", "reasoning": "hm"}),
            message("hi", additional_kwargs={"reasoning_content": "hm"}),
            id="reasoning by its other name",
        ),
        pytest.param(
            body({"tool_calls": [call('{"a": 1}')]}),
            message(tool_calls=[tool_call(name="f", args={"a": 1}, id="c1")]),
            id="call",
        ),
        pytest.param(
            body({"tool_calls": [call({"a": 1})]}),
            message(tool_calls=[tool_call(name="f", args={"a": 1}, id="c1")]),
            id="arguments as an object",
        ),
        pytest.param(
            body({"tool_calls": [call('{"a": 1')]}, "length"),
            message(
                finish_reason="length",
                invalid_tool_calls=[
                    invalid_tool_call(
                        name="f",
                        args='{"a": 1',
                        id="c1",
                        error="Expecting ',' delimiter: line 1 column 8 (char 7)",
                    )
                ],
            ),
            id="a cut call is not mended",
        ),
        pytest.param(
            body({"tool_calls": [call("[1]")]}),
            message(
                invalid_tool_calls=[
                    invalid_tool_call(
                        name="f",
                        args="[1]",
                        id="c1",
                        error="the arguments must be a JSON object, not list",
                    )
                ]
            ),
            id="arguments that are no object",
        ),
    ],
)
def test_a_reply_is_read_as_it_is(reply: dict[str, Any], expected: AIMessage) -> None:
    read = read_reply(reply)

    assert read.id is not None
    assert re.fullmatch(r"run-[0-9a-f-]{36}", read.id)
    assert read.model_copy(update={"id": None}) == expected


def test_calls_without_an_id_get_one_each() -> None:
    calls = [call("{}", id=None), call("{}", id="")]

    ids = [read["id"] for read in read_reply(body({"tool_calls": calls})).tool_calls]

    assert len(set(ids)) == 2
    assert all(re.fullmatch("call_[0-9a-f]{24}", str(each)) for each in ids)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["{", "{}", "[1]", "{}"], id="a broken one first"),
        pytest.param(["{}", "{", "{}"], id="one amid"),
        pytest.param(["{}", "{", "["], id="last"),
        pytest.param(["{", "{"], id="none is readable"),
        pytest.param(["{}", "{}"], id="none is broken"),
    ],
)
@pytest.mark.parametrize("same_id", [False, True], ids=["", "all of one id"])
def test_the_order_of_calls_is_the_one_in_which_they_were_written(
    arguments: list[str], *, same_id: bool
) -> None:
    calls = [
        {
            "id": "c" if same_id else f"c{place}",
            "function": {"name": f"f{place}", "arguments": each},
        }
        for place, each in enumerate(arguments)
    ]

    found = in_order(read_reply(body({"tool_calls": calls})))

    assert [each["name"] for each in found] == [f"f{place}" for place in range(len(arguments))]


def test_where_the_order_is_not_known_what_cannot_be_read_comes_last() -> None:
    broken = invalid_tool_call(name="g", args="{", id="c2", error="no")
    call = tool_call(name="f", args={}, id="c1")

    assert in_order(AIMessage("", tool_calls=[call], invalid_tool_calls=[broken])) == [call, broken]


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        pytest.param({"choices": []}, "{'choices': []}", id="no choice"),
        pytest.param({"error": {"message": "busy"}}, "{'error': {'message': 'busy'}}", id="error"),
        pytest.param("<html>Hello</html>", "<html>Hello</html>", id="a page"),
        pytest.param(None, "None", id="nothing"),
    ],
)
def test_what_is_no_completion_is_shown_in_the_error(reply: object, shown: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_reply(reply)

    assert str(caught.value) == f"The endpoint answered without a choice: {shown}"


USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "prompt_tokens_details": {"cached_tokens": 5},
}
READ_USAGE = UsageMetadata(
    input_tokens=9, output_tokens=4, total_tokens=13, input_token_details={"cache_read": 5}
)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param(None, None, id="none"),
        pytest.param({}, None, id="empty"),
        pytest.param(USAGE, READ_USAGE, id="whole"),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": None, "prompt_tokens_details": None},
            UsageMetadata(
                input_tokens=9,
                output_tokens=0,
                total_tokens=9,
                input_token_details={"cache_read": 0},
            ),
            id="with gaps",
        ),
    ],
)
def test_usage(usage: dict[str, Any] | None, expected: UsageMetadata | None) -> None:
    assert read_usage(usage) == expected


@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        pytest.param("", {}, id="empty"),
        pytest.param(" \n", {}, id="blank"),
        pytest.param("null", {}, id="null"),
        pytest.param(None, {}, id="none"),
        pytest.param('{"a": "x\ny"}', {"a": "x\ny"}, id="a raw line break"),
    ],
)
def test_arguments(arguments: object, args: dict[str, Any]) -> None:
    assert read_arguments(arguments) == args


def test_arguments_nested_too_deep_are_no_arguments() -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        read_arguments('{"q":' + "[" * 100_000)
