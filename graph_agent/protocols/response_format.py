"""What constrains a JSON-mode reply at the endpoint: a schema of the actions, or just JSON."""

from collections.abc import Mapping
from typing import Any, Literal

from graph_agent.models.spec import Abilities


def response_format(
    abilities: Abilities,
    schemas: Mapping[str, dict[str, Any]],
    *,
    reasoning: Literal["first", "last", "off"],
) -> dict[str, Any]:
    """Return the request's `response_format`, as a parameter, as far as the endpoint takes one."""
    if abilities.json_schema:
        schema = action_schema(schemas, reasoning=reasoning)
        form = {"name": "action", "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    if abilities.json_mode:
        return {"response_format": {"type": "json_object"}}
    return {}


def action_schema(
    schemas: Mapping[str, dict[str, Any]], *, reasoning: Literal["first", "last", "off"]
) -> dict[str, Any]:
    """Build one typed branch for each tool, and one for the answer."""
    calls = [
        _branch({"type": "tool_call", "tool": name}, {"args": schema}, reasoning)
        for name, schema in schemas.items()
    ]
    answer = _branch({"type": "final_answer"}, {"answer": {"type": "string"}}, reasoning)
    return {"anyOf": [*calls, answer]}


def _branch(
    fixed: Mapping[str, str],
    free: Mapping[str, dict[str, Any]],
    reasoning: Literal["first", "last", "off"],
) -> dict[str, Any]:
    why = {"reasoning": {"type": "string"}}
    properties: dict[str, dict[str, Any]] = {
        **(why if reasoning == "first" else {}),
        **{key: {"const": value} for key, value in fixed.items()},
        **free,
        **(why if reasoning == "last" else {}),
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
