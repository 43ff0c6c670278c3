"""Fits a call's arguments to a tool's schema: converts what is lossless, and guesses nothing."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

Schema = Mapping[str, Any]


class ArgumentsError(ValueError):
    """The arguments do not fit; the text names each fault, for the model to mend."""


@dataclass(frozen=True)
class Fitted:
    """Arguments that the tool takes."""

    args: dict[str, Any]
    dropped: list[str]
    """Names that the tool does not know; they were left out."""


def fit_arguments(args: Mapping[str, Any], schema: Schema) -> Fitted:
    """Convert what the schema asks for and the value holds in another form, then validate.

    A text becomes a number, a boolean, a list or an object only where the schema takes no text.

    >>> schema = {"properties": {"n": {"type": "integer"}, "note": {"type": "string"}}}
    >>> fit_arguments({"n": "3", "note": "3", "extra": 1}, schema)
    Fitted(args={'n': 3, 'note': '3'}, dropped=['extra'])

    Raises:
        ArgumentsError: A value is missing, or of another type.
    """
    known = schema.get("properties") or {}
    open_ended = schema.get("additionalProperties") not in (None, False)
    dropped = [] if open_ended else [name for name in args if name not in known]
    kept = {name: value for name, value in args.items() if name not in dropped}
    fitted = {name: _fit(value, known.get(name, {}), schema) for name, value in kept.items()}
    faults = [_tell(fault) for fault in Draft202012Validator(schema).iter_errors(fitted)]
    if faults:
        raise ArgumentsError("; ".join(faults))
    return Fitted(fitted, dropped)


def _fit(value: Any, schema: Schema, root: Schema) -> Any:
    """Return the value in the form that the schema asks for, or as it is."""
    schema = _resolved(schema, root)
    if _fits(value, schema, root):
        return value
    branches = [*schema.get("anyOf", []), *schema.get("oneOf", [])] or [schema]
    for branch in (_resolved(branch, root) for branch in branches):
        candidate = _converted(value, branch, root)
        if _fits(candidate, branch, root):
            return candidate
    return value


def _converted(value: Any, schema: Schema, root: Schema) -> Any:
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        candidate = value
        if convert := _CONVERSIONS.get(str(kind)):
            candidate = convert(value)
        if isinstance(candidate, list) and kind == "array":
            return [_fit(item, schema.get("items", {}), root) for item in candidate]
        if isinstance(candidate, dict) and kind == "object":
            known = schema.get("properties", {})
            return {key: _fit(item, known.get(key, {}), root) for key, item in candidate.items()}
        if candidate is not value:
            return candidate
    return value


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return number if math.isfinite(number) else value


def _integer(value: Any) -> Any:
    if isinstance(value, str) and value.strip().lstrip("+-").isdecimal():
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _boolean(value: Any) -> Any:
    words = {"true": True, "false": False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


def _decoded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _decoded,
    "object": _decoded,
}


def _resolved(schema: Schema, root: Schema) -> Schema:
    """Follow a reference into the root's definitions."""
    reference = schema.get("$ref", "")
    found: Any = root
    for part in reference.removeprefix("#/").split("/") if reference.startswith("#/") else []:
        found = found.get(part, {})
    return found if reference else schema


def _fits(value: Any, schema: Schema, root: Schema) -> bool:
    with_definitions = {"$defs": root.get("$defs", {}), **schema}
    return bool(Draft202012Validator(with_definitions).is_valid(value))


def _tell(fault: ValidationError) -> str:
    place = ".".join(str(part) for part in fault.absolute_path)
    return f"{place}: {fault.message}" if place else fault.message
