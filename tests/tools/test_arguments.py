"""Arguments take the form that a schema asks for where that loses nothing, and else stay."""

from typing import Any

import pytest

from graph_agent.tools.arguments import ArgumentSchema, Fitted

TEXT = {"type": "string"}
INTEGER = {"type": "integer"}
LIST = {"type": "array", "items": INTEGER}


def fitted(value: Any, schema: Any, **more: Any) -> Any:
    """Fit one argument that has to be given."""
    whole = {"properties": {"x": schema}, "required": ["x"], **more}
    return ArgumentSchema(whole).fitted({"x": value}).args["x"]


@pytest.mark.parametrize(
    ("value", "schema", "result"),
    [
        pytest.param("3", INTEGER, 3, id="integer"),
        pytest.param("-3", INTEGER, -3, id="negative"),
        pytest.param("3.5", {"type": "number"}, 3.5, id="number"),
        pytest.param("True", {"type": "boolean"}, True, id="boolean"),
        pytest.param("null", {"anyOf": [INTEGER, {"type": "null"}]}, None, id="null"),
        pytest.param('["1", 2]', LIST, [1, 2], id="list, and its items"),
        pytest.param(
            '{"n": "3"}', {"type": "object", "properties": {"n": INTEGER}}, {"n": 3}, id="object"
        ),
        pytest.param(
            {"n": {"n": "3"}}, {"$ref": "#/$defs/Node"}, {"n": {"n": 3}}, id="within references"
        ),
        pytest.param("3", {"anyOf": [LIST, INTEGER]}, 3, id="the branch that fits"),
        pytest.param("3", {"type": ["integer", "null"]}, 3, id="several types"),
        pytest.param('{"n": 1}', {"additionalProperties": INTEGER, "type": "object"}, {"n": 1}),
    ],
)
def test_a_text_is_converted_where_no_text_is_taken(value: Any, schema: Any, result: Any) -> None:
    node = {
        "type": "object",
        "properties": {"n": {"anyOf": [INTEGER, {"$ref": "#/$defs/Node"}]}},
    }

    assert fitted(value, schema, **{"$defs": {"Node": node}}) == result


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        pytest.param("3", TEXT, id="number in a text"),
        pytest.param('["a"]', TEXT, id="list in a text"),
        pytest.param("null", {"anyOf": [TEXT, {"type": "null"}]}, id="null in a text"),
        pytest.param("3", {}, id="anything"),
        pytest.param("3", {"anyOf": [INTEGER, TEXT]}, id="text or number"),
        pytest.param(3, TEXT, id="number for a text"),
        pytest.param("3.5", INTEGER, id="not whole"),
        pytest.param("three", INTEGER, id="word"),
        pytest.param("1_000", INTEGER, id="Python's spelling"),
        pytest.param("NaN", {"type": "number"}, id="no number"),
        pytest.param("yes", {"type": "boolean"}, id="no boolean"),
        pytest.param("a, b", LIST, id="list in prose"),
        pytest.param("[1", LIST, id="broken list"),
        pytest.param("[" * 5000, LIST, id="deep list"),
        pytest.param(None, INTEGER, id="null that has to be given"),
        pytest.param("4", {"enum": ["3"]}, id="no choice"),
    ],
)
def test_all_else_stays_as_it_is(value: Any, schema: Any) -> None:
    assert fitted(value, schema) == value


@pytest.mark.parametrize(
    ("schema", "result"),
    [
        pytest.param({"properties": {"a": INTEGER}}, Fitted({"a": 1}, ["b"]), id="unknown"),
        pytest.param({"properties": {}}, Fitted({}, ["a", "b"]), id="no parameters"),
        pytest.param({"type": "object"}, Fitted({"a": 1, "b": 2}, []), id="says nothing"),
        pytest.param(
            {"properties": {}, "additionalProperties": True},
            Fitted({"a": 1, "b": 2}, []),
            id="takes any",
        ),
        pytest.param({"type": "no type"}, Fitted({"a": 1, "b": 2}, []), id="no schema"),
        pytest.param(
            {"properties": {"a": {"$ref": "#/nowhere"}, "b": INTEGER}},
            Fitted({"a": 1, "b": 2}, []),
            id="reference to nowhere",
        ),
    ],
)
def test_unknown_names_are_left_out_where_the_schema_is_closed(
    schema: dict[str, Any], result: Fitted
) -> None:
    known = ArgumentSchema(schema)

    assert known.fitted({"a": 1, "b": 2}) == result
    assert known.faults(result.args) == []


def test_null_for_what_need_not_be_given_counts_as_not_given() -> None:
    nullable = {"anyOf": [INTEGER, {"type": "null"}]}
    schema = ArgumentSchema({"properties": {"a": INTEGER, "b": nullable}})

    assert schema.fitted({"a": None, "b": None}) == Fitted({"b": None}, [])


def test_every_fault_names_its_place() -> None:
    inner = {"type": "object", "properties": {"n": INTEGER}}
    schema = ArgumentSchema({"properties": {"a": LIST, "o": inner}, "required": ["m"]})

    faults = schema.faults({"a": [1, "x"], "o": {"n": "y"}})

    assert faults == [
        "a.1: 'x' is not of type 'integer'",
        "o.n: 'y' is not of type 'integer'",
        "'m' is a required property",
    ]
