"""Puts a JSON schema into the form that OpenAI's strict mode takes, where that loses nothing."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Node = Mapping[str, Any]
"""A schema, or a part of one."""

ANNOTATIONS = {
    "$comment",
    "$id",
    "$schema",
    "default",
    "deprecated",
    "discriminator",
    "examples",
    "readOnly",
    "writeOnly",
}
"""Keywords that constrain nothing and that strict mode refuses: left out."""
PLAIN = {
    "const",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "title",
    "type",
}
"""Keywords that strict mode takes as they are."""
NESTING = {
    "$defs",
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "definitions",
    "format",
    "items",
    "oneOf",
    "properties",
    "required",
}
"""Keywords that are translated."""
WORDS = {"description", "title"}
DEFINITIONS = {"$defs", "definitions"}
FORMATS = {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}
"""Formats of strings that strict mode knows."""
JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
REFERENCE = re.compile(r"#(/(\$defs|definitions)/[^/]+)?")
"""References that still lead to the same place after the translation."""
MOST_PROPERTIES = 5_000
DEEPEST = 10
"""Levels of objects within objects."""


class _InexpressibleError(ValueError):
    """Strict mode cannot say what the schema says."""


def strict_form(
    schema: Node, *, takes_null: Callable[[Node], bool] | None = None
) -> dict[str, Any] | None:
    """Return a schema of an object in strict form, or None where strict mode cannot say the same.

    Every object is closed and requires all its properties; those that were optional may be null,
    and such a null means that the property is absent. The schema itself stays as it is.

    Args:
        schema: With an object at its root, not behind a `$ref`.
        takes_null: Tells whether a part of the schema allows null by itself.

    Source:
        https://platform.openai.com/docs/guides/structured-outputs, "Supported schemas".
    """
    if schema.get("type") != "object" or "anyOf" in schema or "oneOf" in schema:
        return None
    try:
        strict = _Translation(takes_null or _is_null).node(schema)
    except _InexpressibleError:
        return None
    return strict if _is_within_limits(strict) else None


def _is_null(node: Node) -> bool:
    kinds = node.get("type")
    return kinds == "null" or (isinstance(kinds, list) and "null" in kinds)


class _Translation:
    """One schema's way into strict form."""

    def __init__(self, takes_null: Callable[[Node], bool]) -> None:
        self._takes_null = takes_null

    def node(self, node: object) -> dict[str, Any]:
        if not isinstance(node, Mapping):
            raise _InexpressibleError("`true` allows anything, and `false` nothing")
        if unknown := node.keys() - ANNOTATIONS - PLAIN - NESTING:
            raise _InexpressibleError(f"{sorted(unknown)}")
        strict: dict[str, Any] = {key: node[key] for key in node if key in PLAIN}
        strict |= self._named(node) | self._choice(node) | self._string(node)
        if "items" in node:
            strict["items"] = self.node(node["items"])
        if _is_object(node):
            strict |= self._object(node)
        elif node.keys() & {"properties", "required", "additionalProperties"}:
            raise _InexpressibleError("keywords of an object, and no `type` that says so")
        return _typed(strict)

    def _named(self, node: Node) -> dict[str, Any]:
        """Translate the definitions."""
        return {
            key: {name: self.node(part) for name, part in node[key].items()}
            for key in sorted(DEFINITIONS & node.keys())
        }

    def _choice(self, node: Node) -> dict[str, Any]:
        """Translate what refers to schemas that stand elsewhere or beside each other."""
        found = node.keys() & {"$ref", "allOf", "anyOf", "oneOf"}
        if not found:
            return {}
        if len(found) > 1 or node.keys() - found - ANNOTATIONS - WORDS - DEFINITIONS:
            # A closed branch would forbid what stands beside it.
            raise _InexpressibleError("a choice that is narrowed by its neighbours")
        keyword = found.pop()
        if keyword == "$ref":
            if not REFERENCE.fullmatch(node["$ref"]):
                raise _InexpressibleError(node["$ref"])
            return _beside_words({"$ref": node["$ref"]}, node)
        branches = [self.node(branch) for branch in node[keyword]]
        if keyword != "allOf":
            return {"anyOf": branches}
        if len(branches) > 1:
            raise _InexpressibleError("allOf")
        return _beside_words(branches[0], node)

    def _string(self, node: Node) -> dict[str, Any]:
        if "format" not in node:
            return {}
        if node["format"] not in FORMATS:
            raise _InexpressibleError(f"format {node['format']}")
        return {"format": node["format"]}

    def _object(self, node: Node) -> dict[str, Any]:
        if node.get("additionalProperties", False) is not False or "properties" not in node:
            raise _InexpressibleError("an object with free names")
        properties, required = node["properties"], node.get("required", [])
        if set(required) - properties.keys():
            raise _InexpressibleError("a required property that is not described")
        strict = {
            name: self.node(part) if name in required else self._optional(part)
            for name, part in properties.items()
        }
        return {"properties": strict, "required": list(strict), "additionalProperties": False}

    def _optional(self, part: Node) -> dict[str, Any]:
        strict = self.node(part)
        return strict if self._takes_null(part) else _nullable(strict)


def _is_object(node: Node) -> bool:
    kinds = node.get("type")
    return kinds == "object" or (isinstance(kinds, list) and "object" in kinds)


def _beside_words(meant: dict[str, Any], node: Node) -> dict[str, Any]:
    """Set a schema apart from the words about it: a `$ref` takes no neighbours."""
    return {"anyOf": [meant]} if node.keys() & (WORDS | DEFINITIONS) else meant


def _nullable(strict: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in strict:
        return {**strict, "anyOf": [*strict["anyOf"], {"type": "null"}]}
    if isinstance(strict.get("type"), str) and not strict.keys() & {"enum", "const", "properties"}:
        return {**strict, "type": [strict["type"], "null"]}
    words = {key: strict[key] for key in sorted(WORDS & strict.keys())}
    rest = {key: value for key, value in strict.items() if key not in words}
    return {**words, "anyOf": [rest, {"type": "null"}]}


def _typed(strict: dict[str, Any]) -> dict[str, Any]:
    """Say the type where only values are listed, and refuse what would allow anything."""
    if strict.keys() & {"type", "anyOf", "$ref"}:
        return strict
    values = [*strict.get("enum", ()), *([strict["const"]] if "const" in strict else [])]
    kinds = sorted({JSON_TYPES.get(type(value), "") for value in values})
    if not kinds or "" in kinds:
        raise _InexpressibleError("a schema that allows anything, or lists whole objects")
    return {**strict, "type": kinds[0] if len(kinds) == 1 else kinds}


def _is_within_limits(strict: Node) -> bool:
    objects = list(_objects(strict, 1))
    return (
        max(depth for depth, _ in objects) <= DEEPEST
        and sum(len(node["properties"]) for _, node in objects) <= MOST_PROPERTIES
    )


def _objects(node: Node, depth: int) -> Iterator[tuple[int, Node]]:
    """List the objects of a strict schema, each with its depth as it is written."""
    if "properties" in node:
        yield depth, node
        for part in node["properties"].values():
            yield from _objects(part, depth + 1)
    for definition in {**node.get("$defs", {}), **node.get("definitions", {})}.values():
        yield from _objects(definition, 1)
    for branch in node.get("anyOf", []):
        yield from _objects(branch, depth)
    if "items" in node:
        yield from _objects(node["items"], depth)
