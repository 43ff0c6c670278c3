"""Puts tools, and the choice among them, into the form of OpenAI's API."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

Tool = dict[str, Any] | type | Callable[..., Any] | BaseTool
Choice = Mapping[str, Any] | str | bool | None


def wire_tools(tools: Sequence[Tool], *, strict: bool | None = None) -> list[dict[str, Any]]:
    """Return the tools as an endpoint takes them.

    Args:
        tools: In any form that LangChain knows.
        strict: Whether calls have to follow the schemas to the letter; None says nothing of it.
    """
    return [convert_to_openai_tool(tool, strict=strict) for tool in tools]


def wire_choice(choice: Choice, tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | str:
    """Return a choice as an endpoint takes it.

    Args:
        choice: A tool's name, "auto", "none", "required" (or "any", or True), or the wire's form.
        tools: In the wire's form.

    Returns:
        "" where there is nothing to choose.

    >>> wire_choice("any", []), wire_choice(False, []), wire_choice("none", [])
    ('required', '', 'none')
    """
    if not choice:
        return ""
    if choice is True or choice == "any":
        return "required"
    if isinstance(choice, str) and choice in map(_name, tools):
        return {"type": "function", "function": {"name": choice}}
    return choice


def _name(tool: Mapping[str, Any]) -> str:
    """Return a tool's name; those that a provider runs by itself may have none."""
    return str(tool.get("function", tool).get("name", ""))
