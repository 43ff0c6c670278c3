import gc
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call

from graph_agent.message_cache import PerMessage
from graph_agent.models.message_form import to_wire
from graph_agent.models.wire import encoder_for, request_body
from graph_agent.models.wire_rules import WireRules


def calling(args: dict[str, Any]) -> AIMessage:
    return AIMessage("", tool_calls=[tool_call(name="f", args=args, id="c1")])


def called(arguments: str) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


@pytest.mark.parametrize(
    ("message", "wire"),
    [
        pytest.param(SystemMessage("be"), {"role": "system", "content": "be"}, id="system"),
        pytest.param(HumanMessage("서울?"), {"role": "user", "content": "서울?"}, id="user"),
        pytest.param(
            HumanMessage(["see", PICTURE]),
            {"role": "user", "content": [{"type": "text", "text": "see"}, PICTURE]},
            id="blocks as OpenAI spells them",
        ),
        pytest.param(
            HumanMessage([{"type": "image", "base64": "AA==", "mime_type": "image/png"}]),
            {"role": "user", "content": [PICTURE]},
            id="a block as LangChain spells it",
        ),
        pytest.param(
            ToolMessage("21", tool_call_id="c1"),
            {"role": "tool", "tool_call_id": "c1", "content": "21"},
            id="tool",
        ),
        pytest.param(AIMessage("hi"), {"role": "assistant", "content": "hi"}, id="assistant"),
        pytest.param(
            AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"}]),
            {"role": "assistant", "content": "hi"},
            id="an assistant's text without its thinking",
        ),
        pytest.param(calling({}), called("{}"), id="a call without arguments"),
        pytest.param(calling({"q": "é"}), called('{"q":"é"}'), id="arguments as they are"),
        pytest.param(calling({"n": 10**30}), called('{"n": ' + "1" + "0" * 30 + "}"), id="huge n"),
    ],
)
def test_a_message_as_an_endpoint_takes_it(message: BaseMessage, wire: dict[str, Any]) -> None:
    assert to_wire(message) == wire


def test_a_message_that_no_endpoint_takes_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"^A ChatMessage cannot be sent to a model\.$"):
        to_wire(ChatMessage(content="hi", role="critic"))


@pytest.mark.parametrize("parameters", [{}, {"model": "m"}, {"model": "m", "stop": ["é"]}])
@pytest.mark.parametrize("messages", [[], [HumanMessage("é")], [HumanMessage("a"), AIMessage("b")]])
def test_a_body_is_the_parameters_and_the_messages(
    parameters: Mapping[str, Any], messages: Sequence[BaseMessage]
) -> None:
    body = request_body(parameters, messages)

    assert orjson.loads(body) == {**parameters, "messages": [to_wire(m) for m in messages]}


def test_text_beyond_ascii_is_sent_as_itself() -> None:
    assert "서울 🙂".encode() in request_body({}, [HumanMessage("서울 🙂")])


def test_a_message_is_encoded_once_and_an_equal_one_anew() -> None:
    one, equal = HumanMessage("hello"), HumanMessage("hello")
    encoder = encoder_for(WireRules())

    (first,), (again,), (other,) = (list(encoder.pieces([m])) for m in (one, one, equal))

    assert first is again
    assert first is not other


class Value:
    """Something that a weak reference can watch."""


def test_what_is_remembered_of_a_message_dies_with_it() -> None:
    remembered = PerMessage[Value](lambda _: Value())
    message = HumanMessage("hello")
    value = weakref.ref(remembered(message))
    assert value() is remembered(message)

    del message
    gc.collect()

    assert value() is None
