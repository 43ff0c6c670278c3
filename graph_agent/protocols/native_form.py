"""Puts what a model said into the form that a thread keeps, whatever the protocol."""

from collections.abc import Collection
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall

from graph_agent.plain_text import cleaned, plain_text
from graph_agent.tools.registry import ToolRegistry

CUT_OFF_REASONS = {"length", "max_tokens", "MAX_TOKENS"}
"""How endpoints say that a reply reached the limit of its length."""


def was_cut_off(reply: AIMessage) -> bool:
    """Tell whether a reply ended at the output limit, in the words of any provider."""
    told = reply.response_metadata
    reasons = (told.get(key) for key in ("finish_reason", "stop_reason", "done_reason"))
    return any(reason in CUT_OFF_REASONS for reason in reasons)


def reasoning_of(message: AIMessage) -> str:
    """Return what the model says about its move: its reasoning, else its text beside calls."""
    reasoning = plain_text(str(message.additional_kwargs.get("reasoning_content") or ""))
    return reasoning or (message.text if message.tool_calls else "")


def kept_call(
    name: str,
    args: dict[str, Any],
    tools: ToolRegistry,
    *,
    call_id: str | None = None,
    taken: Collection[str | None] = (),
) -> ToolCall:
    """Return a call as the thread keeps it, and as every endpoint takes it back.

    Args:
        name: The tool's name as the model spelled it.
        args: The arguments as they were read.
        tools: What there is, for the spelling.
        call_id: The id that the endpoint gave.
        taken: Ids of other calls: some servers repeat theirs.
    """
    unused = call_id if call_id and call_id not in taken else f"call_{uuid4().hex[:24]}"
    return ToolCall(name=tools.spelled(name), args=cleaned(args), id=unused, type="tool_call")
