"""Tools by the provider's own API."""

from collections.abc import Collection, Sequence
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool

from graph_agent.context.tokens import message_tokens, schema_tokens
from graph_agent.models.language_model import LanguageModel
from graph_agent.protocols import Move
from graph_agent.state import Mode
from graph_agent.tools.registry import ToolRegistry

CUT_OFF = "it was cut off by the output limit; send a smaller one"


class NativeProtocol:
    """Offers tools in the request and takes calls from the reply."""

    mode: Mode = "native"

    def __init__(self, system: str, tools: ToolRegistry, names: Sequence[str]) -> None:
        self._system = SystemMessage(system)
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
        message = in_native_form(reply, taken)
        return Move(messages=[message], reasoning=reasoning_of(message), reply=reply)


def in_native_form(reply: AIMessage, taken: Collection[str | None] = ()) -> AIMessage:
    """Rebuild a reply as the thread keeps it.

    Calls that could not be read stay among the calls, with empty arguments, so that they get an
    answer and go back as valid JSON; `additional_kwargs["invalid"]` says why they are not run.
    A call keeps its id unless it has none or the id is taken: some servers repeat theirs.
    """
    cut = reply.response_metadata.get("finish_reason") == "length"
    invalid: dict[str, str] = {}
    calls: list[ToolCall] = []
    for call in [*reply.tool_calls, *reply.invalid_tool_calls]:
        call_id = _unused(call["id"], [*taken, *(known["id"] for known in calls)])
        args = call["args"] if isinstance(call["args"], dict) else {}
        calls.append(ToolCall(name=call["name"] or "", args=args, id=call_id, type="tool_call"))
        if cut:
            invalid[call_id] = CUT_OFF
        elif not isinstance(call["args"], dict):
            invalid[call_id] = _fault(call["args"], call.get("error"))
    return AIMessage(
        content=reply.text,
        id=reply.id or f"run-{uuid4()}",
        tool_calls=calls,
        usage_metadata=reply.usage_metadata,
        additional_kwargs=_kept(reply) | ({"invalid": invalid} if invalid else {}),
    )


def reasoning_of(message: AIMessage) -> str:
    """Return what the model says about its move: its reasoning, else its text beside calls."""
    reasoning = str(message.additional_kwargs.get("reasoning_content") or "")
    return reasoning or (message.text if message.tool_calls else "")


def _kept(reply: AIMessage) -> dict[str, str]:
    reasoning = reply.additional_kwargs.get("reasoning_content")
    return {"reasoning_content": reasoning} if reasoning else {}


def _unused(call_id: str | None, known: Collection[str | None]) -> str:
    return call_id if call_id and call_id not in known else f"call_{uuid4().hex[:24]}"


def _fault(args: object, error: object) -> str:
    return f"its arguments are not valid JSON ({error or 'no reason given'}): {str(args)[:500]}"
