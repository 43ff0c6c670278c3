"""Tools by the provider's own API."""

from collections.abc import Collection, Sequence
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool

from graph_agent.context.tokens import message_tokens, schema_tokens
from graph_agent.models.language_model import LanguageModel
from graph_agent.plain_text import plain_text
from graph_agent.protocols import Move
from graph_agent.protocols.native_form import kept_call, reasoning_of, was_cut_off
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
        taken = {call["id"] for m in view if isinstance(m, AIMessage) for call in m.tool_calls}
        message = in_native_form(reply, self._registry, taken)
        return Move(messages=[message], reasoning=reasoning_of(message), reply=reply)


def in_native_form(
    reply: AIMessage, tools: ToolRegistry, taken: Collection[str | None] = ()
) -> AIMessage:
    """Rebuild a reply as the thread keeps it.

    Calls that could not be read stay among the calls, with empty arguments, so that they get an
    answer and go back as valid JSON; `additional_kwargs["invalid"]` says why they are not run.
    A call keeps its id unless it has none or the id is taken.
    """
    cut_off = was_cut_off(reply)
    invalid: dict[str, str] = {}
    calls: list[ToolCall] = []
    for raw in [*reply.tool_calls, *reply.invalid_tool_calls]:
        args = raw["args"] if isinstance(raw["args"], dict) else None
        known = {*taken, *(call["id"] for call in calls)}
        call = kept_call(raw["name"] or "", args or {}, tools, call_id=raw["id"], taken=known)
        calls.append(call)
        if cut_off:
            invalid[str(call["id"])] = CUT_OFF
        elif args is None:
            invalid[str(call["id"])] = _fault(raw["args"], raw.get("error"))
    return AIMessage(
        content=plain_text(reply.text),
        id=reply.id or f"run-{uuid4()}",
        tool_calls=calls,
        usage_metadata=reply.usage_metadata,
        additional_kwargs=_kept(reply) | ({"invalid": invalid} if invalid else {}),
    )


def _kept(reply: AIMessage) -> dict[str, str]:
    reasoning = reply.additional_kwargs.get("reasoning_content")
    return {"reasoning_content": plain_text(str(reasoning))} if reasoning else {}


def _fault(args: object, error: object) -> str:
    fault = f"its arguments are not valid JSON ({error or 'no reason given'}): {str(args)[:500]}"
    return plain_text(fault)
