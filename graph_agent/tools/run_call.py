"""Runs one tool call so that whatever happens becomes a message to the model."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolInvocationError
from langgraph.types import Command
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from graph_agent.listeners import nobody_listens
from graph_agent.plain_text import cleaned, plain_text
from graph_agent.tools.registry import ToolRegistry
from graph_agent.tools.result_text import plain_block, plain_data, result_text


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call as the model made it; the tool is given its arguments fitted to the schema."""

    id: str
    message_id: str
    """What its result is called in the thread: call ids come from servers, and some repeat them."""
    name: str
    args: dict[str, Any]
    invalid: str | None = None
    """Why the arguments could not be read; such a call is never run."""
    denied: str | None = None
    """Why it may not run."""
    changed: bool = False
    """Whether the arguments are not those that the model gave."""


async def run_call(call: Call, tools: ToolRegistry, *, seconds: float) -> ToolMessage:
    """Run a call and return its result, or what went wrong and what to do, as a tool message.

    Args:
        call: What the model asked for.
        tools: What there is.
        seconds: How long it may take.

    Returns:
        The message; `status` is "error" where the call failed, and
        `response_metadata["seconds"]` says how long it took.
    """
    started = time.monotonic()
    try:
        message = await _run(call, tools, seconds)
    except GraphBubbleUp:
        raise
    except asyncio.CancelledError:
        if _is_being_cancelled():
            raise
        message = _failure(call, f"Error: `{call.name}` was cancelled from within.")
    except Exception as error:  # noqa: BLE001 -- whatever a tool raises, the model is told
        message = _failure(call, _explain(error, call))
    message.response_metadata["seconds"] = round(time.monotonic() - started, 6)
    return message


async def _run(call: Call, tools: ToolRegistry, seconds: float) -> ToolMessage:
    tool = tools.get(call.name)
    if call.denied is not None:
        return _failure(call, f"The call was not run: {call.denied}. Go on without it.")
    if call.invalid is not None:
        return _failure(call, f"The call was not run: {call.invalid}. Send it again, corrected.")
    if tool is None:
        known = ", ".join(tools.names()) or "none"
        return _failure(call, f"There is no tool `{call.name}`. The tools are: {known}.")
    schema = tools.arguments(call.name)
    fitted = schema.fitted(call.args)
    if not _validates(tool) and (faults := schema.faults(fitted.args)):
        return _failure(call, _misfit(call, faults))
    try:
        async with asyncio.timeout(seconds) as patience:
            message = await _called(call, fitted.args, tools)
    except TimeoutError:
        if not patience.expired():
            raise
        text = f"Error: `{call.name}` did not finish within {seconds:g} seconds."
        return _failure(call, text)
    # No more of it than is read or shown: tools may put anything into a message.
    return ToolMessage(
        _content(message, note=_note(call, fitted.dropped)),
        tool_call_id=call.id,
        name=call.name,
        id=call.message_id,
        status=message.status,
        artifact=plain_data(message.artifact),
    )


async def _called(call: Call, args: dict[str, Any], tools: ToolRegistry) -> ToolMessage:
    direct = tools.direct(call.name)
    if direct and nobody_listens():
        return await direct(args)
    request = {"id": call.id, "name": call.name, "args": args, "type": "tool_call"}
    return _message(await tools.runner(call.name).ainvoke([request]))


def _validates(tool: BaseTool) -> bool:
    """Tell whether a tool checks its arguments by itself; LangChain trusts plain JSON schemas."""
    return isinstance(tool.args_schema, type)


def _content(message: ToolMessage, *, note: str) -> str | list[str | dict[Any, Any]]:
    content = message.content
    if isinstance(content, list) and content:
        return [*map(plain_block, content), *([{"type": "text", "text": note}] if note else [])]
    text = result_text(message.text)
    return f"{text}\n\n{note}" if note else text


def _note(call: Call, dropped: Sequence[str]) -> str:
    names = ", ".join(f"`{plain_text(name)}`" for name in dropped)
    notes = [f"(`{call.name}` takes no {names}: left out.)"] if dropped else []
    if call.changed:
        given = orjson.dumps(cleaned(call.args), default=str).decode()
        notes.append(f"(It was run with other arguments: {given})")
    return "\n".join(notes)


def _misfit(call: Call, faults: Iterable[str]) -> str:
    told = "; ".join(faults)
    return f"Error: the arguments of `{call.name}` do not fit: {told}. Correct them."


def _message(results: Any) -> ToolMessage:
    """Take the tool's message; of a `Command`, its message is all that counts."""
    result = (results if isinstance(results, list) else results["messages"])[0]
    update: Any = result.update if isinstance(result, Command) else {"messages": [result]}
    return next(message for message in update["messages"] if isinstance(message, ToolMessage))


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failure(call: Call, text: str) -> ToolMessage:
    return ToolMessage(
        plain_text(text), tool_call_id=call.id, name=call.name, id=call.message_id, status="error"
    )


def _faults(error: ToolInvocationError | ValidationError) -> list[ErrorDetails]:
    if isinstance(error, ToolInvocationError):
        return error.filtered_errors or error.source.errors(include_url=False)
    return error.errors(include_url=False)


def _explain(error: BaseException, call: Call) -> str:
    """Say what happened, without a stack trace."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case ToolInvocationError() | ValidationError():
            faults = _faults(error)
            places = (".".join(str(part) for part in fault["loc"]) for fault in faults)
            told = (f"{at}: {fault['msg']}" for at, fault in zip(places, faults, strict=True))
            return _misfit(call, told)
        case ToolException():
            return f"Error: {error}"
    return f"Error: {type(error).__name__}: {error}"
