"""OpenAI's rules for schemas with `strict: true`."""

from collections.abc import Iterator
from typing import Any

from graph_agent.testing.replies import Json

_UNSUPPORTED = ("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "default")
_TYPED = ("type", "anyOf", "$ref", "enum", "const")


def strict_schema_fault(schema: Any) -> str | None:
    """Say which strict rule a JSON schema breaks, and where, or None.

    Source:
        https://platform.openai.com/docs/guides/structured-outputs, "Supported schemas".
    """
    if not isinstance(schema, dict):
        return "schema must be an object"
    if "anyOf" in schema:
        return "In context=(), the root must not be 'anyOf'"
    if "$ref" not in schema and schema.get("type") != "object":
        return f"schema must be a JSON Schema of 'type: \"object\"', got {schema.get('type')!r}"
    for path, node in _nodes(schema, ()):
        if reason := _node_fault(node):
            return f"In context={path}, {reason}"
    return None


def _nodes(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, node
    if not isinstance(node, dict):
        return
    for key in ("properties", "$defs", "definitions"):
        for name, child in node.get(key, {}).items():
            yield from _nodes(child, (*path, key, name))
    for index, child in enumerate(node.get("anyOf", [])):
        yield from _nodes(child, (*path, "anyOf", str(index)))
    if "items" in node:
        yield from _nodes(node["items"], (*path, "items"))


def _node_fault(node: Any) -> str | None:
    if not isinstance(node, dict):
        return f"{node!r} is not of type 'object'"
    if "$ref" in node and (siblings := sorted(node.keys() - {"$ref", "$defs", "definitions"})):
        return f"$ref cannot have keywords {siblings}"
    if not any(key in node for key in _TYPED):
        return "schema must have a 'type' key"
    if unsupported := [key for key in _UNSUPPORTED if key in node]:
        return f"'{unsupported[0]}' is not permitted"
    kinds = node.get("type")
    is_object = kinds == "object" or (isinstance(kinds, list) and "object" in kinds)
    return _object_fault(node) if is_object else None


def _object_fault(node: Json) -> str | None:
    if node.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false"
    if missing := sorted(node.get("properties", {}).keys() - set(node.get("required", []))):
        return (
            "'required' is required to be supplied and to be an array including every key in "
            f"properties. Missing '{missing[0]}'"
        )
    return None
