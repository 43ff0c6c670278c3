"""Runs one tool call so that whatever happens becomes a message to the model."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode
from pydantic import ValidationError

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
    except Exception as error:  # noqa: BLE001 -- whatever a tool raises, the model is told
        message = _failure(call, _explain(error, call, seconds))
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
    async with asyncio.timeout(seconds):
        results = await node.ainvoke([request])
    message: ToolMessage = results[0] if isinstance(results, list) else results["messages"][0]
    message.id = call.message_id
    if not isinstance(message.content, list):
        message.content = result_text(message.content)
    return message


def _failure(call: Call, text: str) -> ToolMessage:
    return ToolMessage(
        text, tool_call_id=call.id, name=call.name, id=call.message_id, status="error"
    )


def _explain(error: BaseException, call: Call, seconds: float) -> str:
    """Say what happened, without a stack trace."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case TimeoutError():
            return f"Error: `{call.name}` did not finish within {seconds:g} seconds."
        case ToolException():
            return f"Error: {error}"
        case ValidationError():
            faults = "; ".join(
                f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
                for fault in error.errors(include_url=False)
            )
            return f"Error: the arguments of `{call.name}` do not fit: {faults}. Correct them."
    return f"Error: {type(error).__name__}: {error}"
