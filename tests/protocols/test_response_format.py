"""The schema of a JSON-mode reply takes exactly the actions that the tools allow."""

import json
from typing import Any, Literal

import jsonschema
import pytest

from graph_agent.models.spec import Abilities
from graph_agent.protocols.response_format import action_schema, response_format
from graph_agent.tools.registry import ToolRegistry

Reasoning = Literal["first", "last", "off"]

ADD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "description": "The first."},
        "b": {"type": "integer", "description": "The second.", "default": 2},
    },
    "required": ["a"],
}
OFF = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "type": {"const": "tool_call"},
                "tool": {"const": "add"},
                "args": ADD,
            },
            "required": ["type", "tool", "args"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"type": {"const": "final_answer"}, "answer": {"type": "string"}},
            "required": ["type", "answer"],
            "additionalProperties": False,
        },
    ]
}


def schemas(tools: ToolRegistry) -> dict[str, dict[str, Any]]:
    return {name: tools.schema(name) for name in tools.names()}


def test_the_whole_schema(tools: ToolRegistry) -> None:
    assert action_schema({"add": tools.schema("add")}, reasoning="off") == OFF


@pytest.mark.parametrize(
    ("reasoning", "keys"),
    [
        pytest.param("first", ["reasoning", "type", "answer"], id="first"),
        pytest.param("last", ["type", "answer", "reasoning"], id="last"),
        pytest.param("off", ["type", "answer"], id="off"),
    ],
)
def test_reasoning_stands_where_it_is_asked_for(reasoning: Reasoning, keys: list[str]) -> None:
    branch = action_schema({}, reasoning=reasoning)["anyOf"][0]

    assert (list(branch["properties"]), branch["required"]) == (keys, keys)


@pytest.mark.parametrize(
    ("reply", "fits"),
    [
        pytest.param({"type": "tool_call", "tool": "add", "args": {"a": 1}}, True, id="call"),
        pytest.param(
            {"type": "tool_call", "tool": "pick", "args": {"color": "red"}}, True, id="enum"
        ),
        pytest.param({"type": "final_answer", "answer": "3"}, True, id="answer"),
        pytest.param({"type": "tool_call", "tool": "no", "args": {}}, False, id="unknown tool"),
        pytest.param({"type": "tool_call", "tool": "add", "args": {}}, False, id="missing"),
        pytest.param({"type": "tool_call", "tool": "add", "args": {"a": "x"}}, False, id="type"),
        pytest.param(
            {"type": "tool_call", "tool": "pick", "args": {"color": "green"}}, False, id="not in it"
        ),
        pytest.param({"type": "tool_call", "tool": "add"}, False, id="no arguments"),
        pytest.param({"type": "final_answer"}, False, id="no answer"),
        pytest.param({"type": "final_answer", "answer": "3", "x": 1}, False, id="one key more"),
    ],
)
def test_it_takes_the_right_replies_only(
    tools: ToolRegistry, reply: dict[str, Any], *, fits: bool
) -> None:
    schema = action_schema(schemas(tools), reasoning="off")

    assert jsonschema.Draft202012Validator(schema).is_valid(reply) is fits


def test_no_reference_leads_out_of_a_branch() -> None:
    def draw(shape: dict[str, Any]) -> str:
        """Draw."""
        return str(shape)

    schema = action_schema(schemas(ToolRegistry([draw])), reasoning="off")

    jsonschema.Draft202012Validator.check_schema(schema)
    assert "$ref" not in json.dumps(schema)


@pytest.mark.parametrize(
    ("abilities", "form"),
    [
        pytest.param(Abilities(json_schema=True), "json_schema", id="schema"),
        pytest.param(Abilities(json_schema=False, json_mode=True), "json_object", id="JSON"),
        pytest.param(Abilities(json_schema=False, json_mode=False), None, id="text"),
    ],
)
def test_the_reply_is_constrained_as_far_as_the_endpoint_can(
    abilities: Abilities, form: str | None
) -> None:
    found = response_format(abilities, {}, reasoning="off")

    assert found.get("response_format", {}).get("type") == form
