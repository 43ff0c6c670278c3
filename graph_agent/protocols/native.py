"""Tools by the provider's own API."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool

from graph_agent.context.tokens import message_tokens, schema_tokens
from graph_agent.message_cache import PerThread
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.reply import in_order
from graph_agent.plain_text import plain_text
from graph_agent.protocols import Move
from graph_agent.protocols.calls_as_text import Written, read_written
from graph_agent.protocols.native_form import (
    call_arguments,
    kept_call,
    kept_message,
    reasoning_of,
    was_cut_off,
)
from graph_agent.state import Mode
from graph_agent.tools.registry import ToolRegistry

CUT_OFF = "it was cut off by the output limit; send a smaller one"


class NativeProtocol:
    """Offers tools in the request and takes calls from the reply."""

    mode: Mode = "native"

    def __init__(self, system: str, tools: ToolRegistry, names: Sequence[str]) -> None:
        self._system = SystemMessage(system)
        self._registry = tools
        self._tools: list[BaseTool] = tools.chosen(names)
        self._overhead = message_tokens(self._system) + schema_tokens(
            [{"name": t.name, "about": t.description, **tools.schema(t.name)} for t in self._tools]
        )

    def overhead(self) -> int:
        """Estimate the tokens of the system prompt and the tools' schemas."""
        return self._overhead

    async def ask(self, model: LanguageModel, view: Sequence[BaseMessage]) -> Move:
        """Ask with the tools on offer; the reply's calls, or its text, are the move."""
        reply = await model.ask([self._system, *view], tools=self._tools)
        message = in_native_form(reply, self._registry, _CALL_IDS(view))
        written = None if message.tool_calls else read_written(reply.text, self._registry)
        if written:
            message = _spoken_as_calls(reply, written, self._registry)
        return Move(
            messages=[message],
            reasoning=reasoning_of(message),
            replies=[reply],
            mode=self.mode,
            calls_as_text=bool(written and written.fits),
        )


def in_native_form(
    reply: AIMessage, tools: ToolRegistry, taken: Collection[str | None] = ()
) -> AIMessage:
    """Rebuild a reply as the thread keeps it.

    Calls that could not be read stay where they stood among the calls, with empty arguments, so
    that they get an answer and go back as valid JSON; `additional_kwargs["invalid"]` says why they
    are not run.
    A call keeps its id unless it has none or the id is taken.
    """
    fault = CUT_OFF if was_cut_off(reply) else ""
    invalid: dict[str, str] = {}
    calls: list[ToolCall] = []
    for raw in in_order(reply):
        args, unreadable = _read(raw["args"])
        own = {call["id"] for call in calls}
        free = raw["id"] not in taken and raw["id"] not in own
        call = kept_call(raw["name"] or "", args, tools, call_id=raw["id"] if free else None)
        calls.append(call)
        if fault or unreadable:
            invalid[str(call["id"])] = fault or unreadable
    return kept_message(reply, reply.text, calls, **({"invalid": invalid} if invalid else {}))


def _read(raw: object) -> tuple[dict[str, Any], str]:
    """Read arguments; say what is wrong where they cannot be read."""
    try:
        return call_arguments(raw), ""
    except ValueError as error:
        told = f"its arguments are not valid JSON ({error}): {str(raw)[:500]}"
        return {}, plain_text(told)


def _spoken_as_calls(reply: AIMessage, written: Written, tools: ToolRegistry) -> AIMessage:
    """Take what a text asks for as if it had come by the API."""
    if not written.calls:
        return kept_message(reply, written.answer)
    calls = [kept_call(call.tool, call.args, tools) for call in written.calls]
    fault = CUT_OFF if was_cut_off(reply) else written.fault
    if not fault:
        return kept_message(reply, written.before, calls)
    unread = [call | {"args": {}} for call in calls]
    invalid = {str(call["id"]): fault for call in calls}
    return kept_message(reply, written.before, unread, invalid=invalid)


def _with_next(ids: set[str | None], message: BaseMessage) -> set[str | None]:
    if isinstance(message, AIMessage):
        ids.update(call["id"] for call in message.tool_calls)
    return ids


_CALL_IDS: Final = PerThread(set[str | None], _with_next)
"""The ids of all calls in messages."""
