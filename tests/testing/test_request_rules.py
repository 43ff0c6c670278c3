"""Each rule about the rest of a request, on bodies that keep it and bodies that break it."""

from typing import Any

import pytest

from graph_agent.testing import request_rules as rules
from graph_agent.testing.message_rules import Rule
from graph_agent.testing.request_rules import REQUEST_RULES
from graph_agent.testing.strict_schema import strict_schema_fault


def tool(name: Any = "f", **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name} | fields}


def schema_format(**fields: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": fields}}


LOOSE = {"type": "object", "properties": {"n": {"type": "integer"}}}
STRICT = LOOSE | {"required": ["n"], "additionalProperties": False}
FORCED = {"type": "function", "function": {"name": "f"}}

ACCEPTED = [
    pytest.param({}, id="nothing else"),
    pytest.param({"stream": True, "stream_options": {"include_usage": True}}, id="stream"),
    pytest.param({"tools": None}, id="tools null"),
    pytest.param({"tools": [tool(), tool("g_2-X", parameters=LOOSE)]}, id="tools"),
    pytest.param({"tools": [tool(parameters=STRICT, strict=True)]}, id="strict tool"),
    pytest.param({"tools": [tool()], "tool_choice": "required"}, id="required"),
    pytest.param({"tools": [tool()], "tool_choice": FORCED}, id="forced"),
    pytest.param({"tools": [tool()], "parallel_tool_calls": False}, id="parallel"),
    pytest.param({"response_format": {"type": "json_object"}}, id="json_object"),
    pytest.param(schema_format(name="n", schema=LOOSE), id="loose schema"),
    pytest.param(schema_format(name="n", schema=STRICT, strict=True), id="strict schema"),
]

REJECTED = [
    (rules.model_is_named, {"model": None}, "model parameter", "no model"),
    (rules.model_is_named, {"model": ""}, "model parameter", "empty model"),
    (
        rules.stream_options_need_stream,
        {"stream_options": {"include_usage": True}},
        "when 'stream' is enabled",
        "stream_options alone",
    ),
    (rules.tools_are_not_empty, {"tools": []}, "empty array", "empty tools"),
    (rules.tools_are_not_empty, {"tools": {}}, "Invalid 'tools'", "tools as object"),
    (rules.tools_are_functions, {"tools": ["f"]}, "tools[0]", "tool as text"),
    (rules.tools_are_functions, {"tools": [{"type": "x"}]}, "tools[0]", "other type"),
    (rules.tools_are_functions, {"tools": [tool("assets/list")]}, "'assets/list'", "slash"),
    (rules.tools_are_functions, {"tools": [tool("n" * 65)]}, "does not match", "long name"),
    (rules.tools_are_functions, {"tools": [tool(None)]}, "name None", "no name"),
    (rules.tools_are_functions, {"tools": [tool(parameters={})]}, "'type: \"object\"'", "typeless"),
    (
        rules.tools_are_functions,
        {"tools": [tool(parameters=LOOSE, strict=True)]},
        "'additionalProperties'",
        "strict tool with a loose schema",
    ),
    (rules.tool_names_are_unique, {"tools": [tool(), tool()]}, "['f']", "one name twice"),
    (rules.tool_parameters_need_tools, {"tool_choice": "auto"}, "'tool_choice'", "choice alone"),
    (
        rules.tool_parameters_need_tools,
        {"parallel_tool_calls": True},
        "'parallel_tool_calls'",
        "parallel alone",
    ),
    (
        rules.tool_choice_is_possible,
        {"tools": [tool("g")], "tool_choice": FORCED},
        "'f' not found",
        "unknown tool",
    ),
    (
        rules.tool_choice_is_possible,
        {"tools": [tool()], "tool_choice": "any"},
        "Supported values",
        "other providers' word",
    ),
    (
        rules.response_format_is_legal,
        {"response_format": {"type": "json"}},
        "supported types",
        "unknown format",
    ),
    (rules.response_format_is_legal, {"response_format": "json"}, "supported types", "as text"),
    (
        rules.response_format_is_legal,
        {"response_format": {"type": "json_schema"}},
        "'response_format.json_schema'",
        "no schema object",
    ),
    (rules.response_format_is_legal, schema_format(schema=LOOSE), ".name'", "unnamed schema"),
    (
        rules.response_format_is_legal,
        schema_format(name="My Answer", schema=LOOSE),
        "'My Answer'",
        "blank in schema name",
    ),
    (rules.response_format_is_legal, schema_format(name="n"), ".schema'", "no schema"),
    (
        rules.response_format_is_legal,
        schema_format(name="n", schema=LOOSE, strict=True),
        "response_format 'n': In context=(), 'additionalProperties'",
        "loose schema called strict",
    ),
]


@pytest.mark.parametrize("fields", ACCEPTED)
def test_every_rule_accepts_what_every_server_accepts(fields: dict[str, Any]) -> None:
    body = {"model": "m"} | fields

    assert [rule(body) for rule in REQUEST_RULES] == [None] * len(REQUEST_RULES)


@pytest.mark.parametrize(
    ("rule", "fields", "reason"), [pytest.param(*row[:3], id=row[3]) for row in REJECTED]
)
def test_a_rule_names_what_breaks_it_and_is_the_first_to(
    rule: Rule, fields: dict[str, Any], reason: str
) -> None:
    body = {"model": "m"} | fields

    assert next(each for each in REQUEST_RULES if each(body)) is rule
    assert reason in (rule(body) or "")


def test_every_rule_is_rejected_by_some_row() -> None:
    assert {row[0] for row in REJECTED} == set(REQUEST_RULES)


@pytest.mark.parametrize(
    ("rule", "body", "reason"),
    [
        pytest.param(rules.parameters_are_known, {"temperature": 0}, None, id="known"),
        pytest.param(
            rules.parameters_are_known, {"top_k": 1}, "Unknown parameter: 'top_k'.", id="unknown"
        ),
        pytest.param(rules.text_is_unicode, {"messages": ["名 🌍"]}, None, id="whole pair"),
        pytest.param(
            rules.text_is_unicode,
            {"messages": ["\ud83d"]},
            "The request holds a lone surrogate: its text is no valid Unicode.",
            id="half a pair",
        ),
        pytest.param(
            rules.json_mode_is_announced,
            {"response_format": {"type": "json_object"}, "messages": [{"content": "as JSON"}]},
            None,
            id="json said",
        ),
        pytest.param(
            rules.json_mode_is_announced,
            {"response_format": {"type": "json_object"}, "messages": [{"content": "q"}]},
            "'messages' must contain the word 'json' in some form, to use 'response_format' of "
            "type 'json_object'.",
            id="json not said",
        ),
    ],
)
def test_rules_that_only_some_servers_have(
    rule: Rule, body: dict[str, Any], reason: str | None
) -> None:
    assert rule(body) == reason


def strict(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        pytest.param(strict(a={"type": ["string", "null"]}), None, id="nullable"),
        pytest.param(strict(a={"anyOf": [strict(), {"type": "null"}]}), None, id="nested anyOf"),
        pytest.param(
            strict(a={"$ref": "#/$defs/A"}) | {"$defs": {"A": strict()}}, None, id="definition"
        ),
        pytest.param(True, "schema must be an object", id="boolean schema"),
        pytest.param({"type": "array"}, "'type: \"object\"', got 'array'", id="root is a list"),
        pytest.param({"anyOf": [strict()]}, "root must not be 'anyOf'", id="root is anyOf"),
        pytest.param(LOOSE, "'additionalProperties'", id="open root"),
        pytest.param(LOOSE | {"additionalProperties": False}, "Missing 'n'", id="optional field"),
        pytest.param(
            strict(a={"type": "array", "items": LOOSE}),
            "context=('properties', 'a', 'items'), 'additionalProperties'",
            id="open object in a list",
        ),
        pytest.param(
            strict(a={"anyOf": [LOOSE]}),
            "('properties', 'a', 'anyOf', '0'), 'additionalProperties'",
            id="open object in anyOf",
        ),
        pytest.param(
            strict() | {"$defs": {"A": LOOSE}}, "('$defs', 'A'), 'additional", id="open definition"
        ),
        pytest.param(
            strict(a={"type": ["object", "null"]}), "'additionalProperties'", id="open or null"
        ),
        pytest.param(
            strict(a={"$ref": "#/$defs/A", "description": "x"}), "$ref cannot have", id="$ref and"
        ),
        pytest.param(strict(a={}), "must have a 'type' key", id="anything"),
        pytest.param(
            strict(a={"type": "string", "default": "x"}), "'default' is not permitted", id="default"
        ),
        pytest.param(strict(a={"type": "array", "items": True}), "not of type", id="true as items"),
    ],
)
def test_strict_schemas(schema: Any, fault: str | None) -> None:
    found = strict_schema_fault(schema)

    assert found is None if fault is None else fault in (found or "")
