"""Fits a call's arguments to a tool's schema: converts what is lossless, and guesses nothing."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, UnknownType, ValidationError
from referencing.exceptions import Unresolvable

Schema = Mapping[str, Any]

OPEN_KEYS = ("additionalProperties", "unevaluatedProperties", "patternProperties")
"""Where one of these is set, a tool takes names that its schema does not list."""
BROKEN = (Unresolvable, UnknownType, re.error)
"""What an unusable part of a schema raises where a value meets it."""
LONGEST_REFERENCE = 10
"""Steps that are followed from one reference to the next."""
BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class Fitted:
    """Arguments as a tool takes them."""

    args: dict[str, Any]
    dropped: list[str]
    """Names that the tool does not know; they were left out."""


PLAIN = {"type", "title", "description", "default"}
"""Keys that ask for no more than a type."""
TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool, "number": float}


class ArgumentSchema:
    """What a tool takes, by its JSON schema; one that is no schema takes anything.

    >>> schema = {"properties": {"n": {"type": "integer"}, "note": {"type": "string"}}}
    >>> ArgumentSchema(schema).fitted({"n": "3", "note": "3", "extra": 1})
    Fitted(args={'n': 3, 'note': '3'}, dropped=['extra'])
    >>> ArgumentSchema(schema | {"required": ["m"]}).faults({"n": "x"})
    ["n: 'x' is not of type 'integer'", "'m' is a required property"]
    """

    def __init__(self, schema: Schema) -> None:
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError:
            schema = {}
        self._schema = schema
        self._validator = Draft202012Validator(schema)

    def fitted(self, args: Mapping[str, Any]) -> Fitted:
        """Convert values that are taken only in another form, and leave out unknown names.

        A text becomes a number, a boolean, a list or an object only where no text is taken;
        null for what need not be given counts as not given. What does not fit stays as it is.
        """
        known = self._schema.get("properties", {})
        is_open = "properties" not in self._schema or any(map(self._schema.get, OPEN_KEYS))
        dropped = [] if is_open else [name for name in args if name not in known]
        kept = {name: value for name, value in args.items() if name not in dropped}
        return Fitted(self._fitted_members(kept, self._schema), dropped)

    def faults(self, args: Mapping[str, Any]) -> list[str]:
        """Say of each field what does not fit."""
        try:
            return [_told(fault) for fault in self._validator.iter_errors(args)]
        except BROKEN:
            return []

    def _fits(self, value: object, schema: Schema) -> bool:
        if _is_plain(schema) and type(value) is TYPES.get(schema["type"]):
            return True  # As most are; the validator takes thirty times as long.
        try:
            return bool(self._validator.evolve(schema=schema).is_valid(value))
        except BROKEN:
            return True

    def _fitted(self, value: Any, schema: Schema) -> Any:
        """Return the value in the form that the schema asks for, else as it is."""
        if self._fits(value, schema):
            return value
        for branch in self._branches(schema):
            for candidate in _readings(value):
                converted = self._fitted_within(candidate, branch)
                if self._fits(converted, branch):
                    return converted
        return value

    def _fitted_within(self, value: Any, schema: Schema) -> Any:
        if isinstance(value, list):
            return [self._fitted(item, schema.get("items", {})) for item in value]
        return self._fitted_members(value, schema) if isinstance(value, dict) else value

    def _fitted_members(self, value: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
        known = schema.get("properties") or {}
        others: Any = schema.get("additionalProperties", {})
        optional = set(known) - set(schema.get("required") or [])
        return {
            name: self._fitted(item, known.get(name, others))
            for name, item in value.items()
            if item is not None or name not in optional or self._fits(None, known[name])
        }

    def _branches(self, schema: Schema) -> Iterator[Schema]:
        """List the forms between which a schema lets choose, references followed."""
        schema = self._resolved(schema)
        branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
        yield from map(self._resolved, branches or [schema])

    def _resolved(self, schema: Any) -> Schema:
        for _ in range(LONGEST_REFERENCE):
            if not isinstance(schema, dict) or "$ref" not in schema:
                break
            found: Any = self._schema
            for part in schema["$ref"].removeprefix("#").strip("/").split("/"):
                found = found.get(part, {}) if isinstance(found, dict) else {}
            schema = found
        return schema if isinstance(schema, dict) else {}


def _is_plain(schema: Schema | bool) -> bool:
    """Tell whether a schema asks for one type, and for nothing else."""
    if isinstance(schema, bool) or not schema.keys() <= PLAIN:
        return False
    return isinstance(schema.get("type"), str)


def _readings(value: Any) -> Iterator[Any]:
    """List what a value may stand for: itself, and what its text holds."""
    yield value
    if not isinstance(value, str):
        return
    if value.strip().lower() in BOOLEANS:
        yield BOOLEANS[value.strip().lower()]
        return
    try:
        yield json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _told(fault: ValidationError) -> str:
    place = ".".join(str(part) for part in fault.absolute_path)
    return f"{place}: {fault.message}" if place else fault.message
