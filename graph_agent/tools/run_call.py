"""Runs one tool call so that whatever happens becomes a message to the model."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolInvocationError
from langgraph.types import Command

from graph_agent.plain_text import cleaned, plain_text
from graph_agent.tools.registry import ToolRegistry
from graph_agent.tools.result_text import result_text


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call as the model made it."""

    id: str
    message_id: str
    """What its result is called in the thread: call ids come from servers, and some repeat them."""
    name: str
    args: dict[str, Any]
    invalid: str | None = None
    """Why the arguments could not be read; such a call is never run."""


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
    if call.invalid is not None:
        return _failure(call, f"The call was not run: {call.invalid}. Send it again, corrected.")
    if tool is None:
        known = ", ".join(tools.names()) or "none"
        return _failure(call, f"There is no tool `{call.name}`. The tools are: {known}.")
    request = {"id": call.id, "name": call.name, "args": call.args, "type": "tool_call"}
    # ToolNode injects state, store and runtime where the tool asks for them.
    node = ToolNode([tool], handle_tool_errors=False)
    try:
        async with asyncio.timeout(seconds) as patience:
            results = await node.ainvoke([request])
    except TimeoutError:
        if not patience.expired():
            raise
        text = f"Error: `{call.name}` did not finish within {seconds:g} seconds."
        return _failure(call, text)
    message = _message(results)
    message.id = call.message_id
    content = message.content
    has_blocks = isinstance(content, list) and content
    message.content = cleaned(content) if has_blocks else result_text(message.text)
    return message


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


def _explain(error: BaseException, call: Call) -> str:
    """Say what happened, without a stack trace."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case ToolInvocationError():
            faults = "; ".join(
                f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
                for fault in error.filtered_errors or error.source.errors(include_url=False)
            )
            return f"Error: the arguments of `{call.name}` do not fit: {faults}. Correct them."
        case ToolException():
            return f"Error: {error}"
    return f"Error: {type(error).__name__}: {error}"
