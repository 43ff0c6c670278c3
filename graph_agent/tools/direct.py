"""Calls a plain tool's function itself, where neither the tool nor a listener needs LangChain.

LangChain's way takes half a millisecond: callbacks, a task, the signature read anew at each call.
"""

from collections.abc import Awaitable, Callable, Mapping
from inspect import Parameter, signature
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel

DirectCall = Callable[[Mapping[str, Any]], Awaitable[ToolMessage]]
"""Takes a call's arguments; raises pydantic's ValidationError where they do not fit."""

NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def direct_call(tool: BaseTool, properties: Mapping[str, Any]) -> DirectCall | None:
    """Return what calls a tool, or None where LangChain has to.

    Args:
        tool: Any tool, adapted.
        properties: Of its schema, as models see it: what is not among them is injected.
    """
    if not (type(tool) is StructuredTool and tool.coroutine and _is_plain(tool)):
        return None
    function, schema = tool.coroutine, tool.args_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return None
    parameters = signature(function).parameters
    named = all(parameter.kind in NAMED for parameter in parameters.values())
    fields = schema.model_fields
    if not named or not set(parameters) == set(properties) == set(fields):
        return None

    async def call(args: Mapping[str, Any]) -> ToolMessage:
        fitted = schema.model_validate(args)
        return _message(await function(**{name: getattr(fitted, name) for name in fields}))

    return call


def _is_plain(tool: StructuredTool) -> bool:
    handled = tool.handle_tool_error or tool.handle_validation_error
    return tool.response_format == "content" and not handled and not tool.callbacks


def _message(result: Any) -> ToolMessage:
    """Take what an adapted function returned; its call's id is set later."""
    match result:
        case ToolMessage():
            return result
        case str() | list():
            return ToolMessage(result, tool_call_id="")
    raise ToolException("the tool returned a command without a message that holds its result")
