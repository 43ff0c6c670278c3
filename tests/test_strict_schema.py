"""Schemas in OpenAI's strict form: by its rules, and with the same meaning."""

import copy
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, ConfigDict, Field

from graph_agent.structured.shape import UnfitError, shape_of
from graph_agent.testing.strict_schema import strict_schema_fault

NULL = {"type": "null"}
TEXT = {"type": "string"}


class Color(Enum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


class Sub(BaseModel):
    """A part, closed or not."""

    size: int = 5


class Cat(BaseModel):
    """One branch."""

    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    """The other."""

    kind: Literal["dog"]
    name: str | None = None


class Node(BaseModel):
    """Holds more of its kind."""

    value: int
    parts: list["Node"] = []


class Full(BaseModel):
    """All that strict mode can say."""

    model_config = ConfigDict(extra="forbid")

    sub: Sub | None = Field(None, description="Perhaps a part.")
    described: Sub = Field(Sub(), description="A part.")
    pet: Cat | Dog
    told_apart: Annotated[Cat | Dog, Field(discriminator="kind")]
    color: Color = Color.RED
    tree: Node
    either: Literal["x", 1, None] = None


class Free(BaseModel):
    """Holds what has names of its own."""

    found: dict[str, Any]


class Strict(BaseModel):
    """Takes nothing that is not exactly of its type."""

    model_config = ConfigDict(strict=True)

    pair: tuple[int, str]
    color: Color


def strict(schema: Any) -> dict[str, Any] | None:
    return shape_of(schema, name="x").strict_schema


@pytest.mark.parametrize("schema", [Full, Node, Sub, Cat])
def test_models_come_out_by_the_rules(schema: type[BaseModel]) -> None:
    form = strict(schema)

    assert form is not None
    assert strict_schema_fault(form) is None


@pytest.mark.parametrize(
    ("part", "form"),
    [
        pytest.param(TEXT, {"type": ["string", "null"]}, id="text"),
        pytest.param({"type": ["string", "null"]}, {"type": ["string", "null"]}, id="nullable"),
        pytest.param({**TEXT, "default": "x"}, {"type": ["string", "null"]}, id="default"),
        pytest.param(
            {**TEXT, "description": "d", "enum": ["a"]},
            {"description": "d", "anyOf": [{**TEXT, "enum": ["a"]}, NULL]},
            id="choice",
        ),
        pytest.param(
            {"enum": ["a", None, 1]},
            {"enum": ["a", None, 1], "type": ["integer", "null", "string"]},
            id="choice with null",
        ),
        pytest.param({"anyOf": [TEXT, NULL]}, {"anyOf": [TEXT, NULL]}, id="or null"),
        pytest.param({"oneOf": [TEXT]}, {"anyOf": [TEXT, NULL]}, id="one of"),
        pytest.param(
            {"$ref": "#/$defs/T", "description": "d"},
            {"description": "d", "anyOf": [{"$ref": "#/$defs/T"}, NULL]},
            id="described reference",
        ),
        pytest.param(
            {"allOf": [{"$ref": "#/$defs/T"}], "title": "t"},
            {"title": "t", "anyOf": [{"$ref": "#/$defs/T"}, NULL]},
            id="reference in allOf",
        ),
        pytest.param(
            {"type": ["object", "null"], "properties": {"a": TEXT}, "required": ["a"]},
            {
                "type": ["object", "null"],
                "properties": {"a": TEXT},
                "required": ["a"],
                "additionalProperties": False,
            },
            id="object or null",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "object", "properties": {"a": TEXT}}},
            {
                "type": ["array", "null"],
                "items": {
                    "type": "object",
                    "properties": {"a": {"type": ["string", "null"]}},
                    "required": ["a"],
                    "additionalProperties": False,
                },
            },
            id="objects in a list",
        ),
    ],
)
def test_an_optional_property_is_required_and_may_be_null(part: Any, form: Any) -> None:
    schema = {"type": "object", "properties": {"p": part}, "$defs": {"T": TEXT}}
    before = copy.deepcopy(schema)

    assert strict(schema) == {
        "type": "object",
        "properties": {"p": form},
        "required": ["p"],
        "additionalProperties": False,
        "$defs": {"T": TEXT},
    }
    assert schema == before


@pytest.mark.parametrize(
    "part",
    [
        pytest.param({"type": "object"}, id="free object"),
        pytest.param({"type": "object", "properties": {}, "additionalProperties": True}, id="open"),
        pytest.param({"type": "object", "additionalProperties": TEXT}, id="dict"),
        pytest.param({"type": "object", "patternProperties": {"a": TEXT}}, id="by pattern"),
        pytest.param({"type": "object", "properties": {}, "required": ["a"]}, id="not described"),
        pytest.param({"properties": {"a": TEXT}}, id="object that does not say so"),
        pytest.param({}, id="anything"),
        pytest.param(True, id="true"),
        pytest.param({"description": "d"}, id="words only"),
        pytest.param({"enum": [{"a": 1}]}, id="whole objects"),
        pytest.param({"allOf": [TEXT, {"minLength": 1}]}, id="all of two"),
        pytest.param({"not": TEXT}, id="not"),
        pytest.param({"type": "string", "minLength": 1}, id="length"),
        pytest.param({"type": "string", "format": "uri"}, id="format"),
        pytest.param({"$ref": "#/properties/q"}, id="reference to a property"),
        pytest.param({"anyOf": [TEXT], "oneOf": [TEXT]}, id="two choices"),
        pytest.param(
            {"type": "object", "properties": {"a": TEXT}, "anyOf": [{"required": ["a"]}]},
            id="narrowed choice",
        ),
        pytest.param({"type": "array", "prefixItems": [TEXT]}, id="tuple"),
    ],
)
def test_what_strict_mode_cannot_say_is_not_said_in_it(part: Any) -> None:
    assert strict({"type": "object", "properties": {"p": part, "q": TEXT}}) is None


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(Free, id="a dict"),
        pytest.param({"anyOf": [{"type": "object", "properties": {}}]}, id="a choice at the root"),
        pytest.param({"type": "object", "properties": {"u": {"format": "uri"}}}, id="no type"),
    ],
)
def test_roots_that_strict_mode_does_not_take(schema: Any) -> None:
    assert strict(schema) is None


def nested(levels: int) -> dict[str, Any]:
    inner = nested(levels - 1) if levels > 1 else TEXT
    return {"type": "object", "properties": {"a": inner}, "required": ["a"]}


@pytest.mark.parametrize(("levels", "taken"), [(10, True), (11, False)])
def test_strict_mode_takes_so_many_levels(levels: int, *, taken: bool) -> None:
    assert (strict(nested(levels)) is not None) is taken


def test_strict_mode_takes_so_many_properties() -> None:
    names = [f"p{number}" for number in range(5_001)]
    schema = {"type": "object", "properties": dict.fromkeys(names, TEXT), "required": names}

    assert strict(schema) is None


@pytest.mark.parametrize(
    ("schema", "raw", "data"),
    [
        pytest.param(Sub, {"size": None}, {}, id="default"),
        pytest.param(Dog, {"kind": "dog", "name": None}, {"kind": "dog", "name": None}, id="null"),
        pytest.param(
            Node,
            {"value": 1, "parts": [{"value": 2, "parts": None}]},
            {"value": 1, "parts": [{"value": 2}]},
            id="recursive",
        ),
        pytest.param(
            {
                "properties": {
                    "pet": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]},
                    "n": {"type": "integer"},
                },
                "required": ["n"],
                "$defs": {
                    "A": {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
                    "B": {"type": "object", "properties": {"b": TEXT, "c": TEXT}},
                },
            },
            {"pet": {"b": "x", "c": None}, "n": 1},
            {"pet": {"b": "x"}, "n": 1},
            id="the branch that fits",
        ),
        pytest.param({"properties": {}}, {"free": None}, {"free": None}, id="not described"),
        pytest.param(Sub, {"size": 3, "half": "\ud83d"}, {"size": 3, "half": "?"}, id="surrogate"),
    ],
)
def test_a_null_that_strict_mode_forced_is_absent(schema: Any, raw: Any, data: Any) -> None:
    assert shape_of(schema, name="x").read(raw)[0] == data


def test_a_null_where_a_value_is_required_stays_wrong() -> None:
    with pytest.raises(UnfitError, match="lives: Input should be a valid integer"):
        shape_of(Cat, name="x").read({"kind": "cat", "lives": None})


def test_data_are_read_as_json() -> None:
    _, value = shape_of(Strict, name="x").read({"pair": [1, "a"], "color": "blue"})

    assert value == Strict(pair=(1, "a"), color=Color.BLUE)


def test_a_model_without_an_endpoint_form_is_still_checked() -> None:
    class Page(BaseModel):
        link: AnyUrl

    with pytest.raises(UnfitError, match="link: Input should be a valid URL"):
        shape_of(Page, name="x").read({"link": "nowhere"})


def test_faults_are_told_shortly_and_not_all_of_them() -> None:
    schema = {"properties": {"a": {"enum": ["x" * 1_000]}}}

    with pytest.raises(UnfitError) as caught:
        shape_of(schema, name="x").read({"a": "y" * 5_000})

    assert len(str(caught.value)) < 400


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    def one(parts: dict[str, Any], required: set[str]) -> dict[str, Any]:
        named = sorted(required & parts.keys())
        return {"type": "object", "properties": parts, "required": named}

    names = st.sampled_from("abc")
    return st.builds(one, st.dictionaries(names, inner, max_size=3), st.sets(names))


PARTS = st.recursive(
    st.sampled_from(
        [
            TEXT,
            {"type": "integer"},
            {"type": ["number", "null"]},
            {"enum": ["a", "b"]},
            {"const": 1},
        ]
    ),
    lambda inner: st.one_of(
        inner.map(lambda part: {"type": "array", "items": part}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"anyOf": parts}),
        objects(inner),
    ),
    max_leaves=8,
)


def filled(form: dict[str, Any]) -> Any:
    """Data as strict mode makes them: every property is there, null where it may be."""
    if "anyOf" in form:
        return None if NULL in form["anyOf"] else filled(form["anyOf"][0])
    kinds = form["type"] if isinstance(form["type"], list) else [form["type"]]
    if "null" in kinds:
        return None
    values = [*form.get("enum", ()), form.get("const")]
    plain = {"string": "a", "integer": 1, "array": []}
    if kinds == ["object"]:
        return {name: filled(part) for name, part in form["properties"].items()}
    if kinds == ["array"]:
        return [filled(form["items"])]
    return values[0] if values[0] is not None else plain[kinds[0]]


@given(objects(PARTS))
@settings(max_examples=200, deadline=None)
def test_what_strict_mode_makes_fits_the_schema(schema: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    shape = shape_of(schema, name="x")

    assert shape.strict_schema is not None
    assert strict_schema_fault(shape.strict_schema) is None
    data, _ = shape.read(filled(shape.strict_schema))
    assert schema == before
    shape.schema.validator.validate(data)
