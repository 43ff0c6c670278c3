"""Tools for models that can only write text: each reply is one JSON object."""

import json
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, Final, Literal

import orjson
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from graph_agent.context.tokens import message_tokens
from graph_agent.message_cache import PerMessage
from graph_agent.models.language_model import LanguageModel
from graph_agent.prompts import (
    JSON_MODE,
    JSON_MODE_NO_TOOLS,
    OBSERVATION,
    REFORMAT,
    UNREADABLE_REASONING,
)
from graph_agent.protocols import Move
from graph_agent.protocols.actions import Actions, UnreadableError, read_actions
from graph_agent.protocols.calls_as_text import without_raw_calls
from graph_agent.protocols.native_form import kept_call, kept_message, reasoning_of
from graph_agent.protocols.response_format import response_format
from graph_agent.state import Mode, marked
from graph_agent.tools.registry import ToolRegistry

Reasoning = Literal["first", "last", "off"]
REASONING_KEY = '"reasoning": "<why>"'


class JsonModeProtocol:
    """Describes tools in the system prompt and reads actions from the reply's text."""

    mode: Mode = "json"

    def __init__(
        self, system: str, tools: ToolRegistry, names: Sequence[str], *, reasoning: Reasoning
    ) -> None:
        chosen = tools.chosen(names)
        schemas = {tool.name: tools.schema(tool.name) for tool in chosen}
        prompt = JSON_MODE if chosen else JSON_MODE_NO_TOOLS
        self._system = SystemMessage(
            prompt.format(
                system=system,
                tools="\n".join(_describe(t.name, t.description, schemas[t.name]) for t in chosen),
                first=f"{REASONING_KEY}, " if reasoning == "first" else "",
                last=f", {REASONING_KEY}" if reasoning == "last" else "",
            )
        )
        self._registry = tools
        self._schemas = schemas
        self._reasoning: Reasoning = reasoning

    def overhead(self) -> int:
        """Estimate the tokens of the system prompt, which holds the tools."""
        return message_tokens(self._system)

    async def ask(self, model: LanguageModel, view: Sequence[BaseMessage]) -> Move:
        """Ask for actions, constrained where the endpoint can; read them, or ask to reformat."""
        form = response_format(model.abilities, self._schemas, reasoning=self._reasoning)
        reply = await model.ask([self._system, *_merged(view)], **form)
        reasoning = reasoning_of(reply)
        try:
            actions = read_actions(reply)
        except UnreadableError as fault:
            said_nothing = not reply.text.strip()
            if said_nothing or _asked_again(view):
                messages: list[BaseMessage] = [_as_answer(reply)]
            else:
                messages = _unreadable(reply, str(fault))
            reasoning = reasoning if said_nothing else UNREADABLE_REASONING
        else:
            messages = [self._in_native_form(actions, reply)]
            reasoning = actions.reasoning or reasoning
        return Move(messages=messages, reasoning=reasoning, replies=[reply], mode=self.mode)

    def _in_native_form(self, actions: Actions, reply: AIMessage) -> AIMessage:
        reasoning = actions.reasoning or reasoning_of(reply)
        calls = [kept_call(call.tool, call.args, self._registry) for call in actions.calls]
        kept = {"reasoning_content": reasoning} if reasoning else {}
        return kept_message(reply, without_raw_calls(actions.answer), calls, **kept)


def as_text(message: BaseMessage) -> BaseMessage:
    """Translate a message of the thread into the user's or the assistant's words."""
    is_translated = isinstance(message, AIMessage | ToolMessage) and marked(message) != "unreadable"
    return _TRANSLATED(message) if is_translated else message


def _translate(message: BaseMessage) -> BaseMessage:
    if isinstance(message, AIMessage):
        return AIMessage("\n".join(_actions(message)))
    return HumanMessage(OBSERVATION.format(content=message.text))


_TRANSLATED: Final = PerMessage[BaseMessage](_translate)


def _actions(message: AIMessage) -> Iterator[str]:
    for call in message.tool_calls:
        action = {"type": "tool_call", "tool": call["name"], "args": call["args"]}
        yield orjson.dumps(action).decode()
    if not message.tool_calls:
        yield orjson.dumps({"type": "final_answer", "answer": message.text}).decode()


def _merged(view: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    """Join neighbours of the same role: many chat templates demand that roles alternate."""
    group: list[BaseMessage] = []
    for message in map(as_text, view):
        if group and type(message) is not type(group[-1]):
            yield _join(group)
            group = []
        group.append(message)
    if group:
        yield _join(group)


def _join(group: Sequence[BaseMessage]) -> BaseMessage:
    first, *rest = group
    if not rest:
        return first
    known = _JOINED(first)
    key = tuple(id(message) for message in rest)
    if key not in known:
        known[key] = (type(first)(_content(group)), rest)
    return known[key][0]


_JOINED: Final = PerMessage[dict[tuple[int, ...], tuple[BaseMessage, list[BaseMessage]]]](
    lambda _: {}
)
"""For the first of a group: the whole by the ids of the rest, which is kept so that ids stay."""


def _content(group: Sequence[BaseMessage]) -> str | list[str | dict[Any, Any]]:
    if all(isinstance(message.content, str) for message in group):
        return "\n\n".join(message.text for message in group)
    return [block for message in group for block in _blocks(message)]


def _blocks(message: BaseMessage) -> list[str | dict[Any, Any]]:
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}]
    return list(message.content)


def _unreadable(reply: AIMessage, fault: str) -> list[BaseMessage]:
    """Return the reply as it is, and the request to write it anew."""
    request = HumanMessage(REFORMAT.format(fault=fault), additional_kwargs={"kind": "reformat"})
    return [kept_message(reply, reply.text, kind="unreadable"), request]


def _as_answer(reply: AIMessage) -> AIMessage:
    """Take a reply that cannot be read for the answer: its words, but never the JSON of a call."""
    return kept_message(reply, without_raw_calls(reply.text))


def _asked_again(view: Sequence[BaseMessage]) -> bool:
    """Tell whether the last reply could not be read either: its request still stands last."""
    newest = takewhile(lambda message: isinstance(message, HumanMessage), reversed(view))
    return any(marked(message) == "reformat" for message in newest)


def _describe(name: str, description: str, schema: dict[str, Any]) -> str:
    """Write a tool as a signature with its words: shorter than its schema, and read as well."""
    properties: dict[str, dict[str, Any]] = schema.get("properties") or {}
    signature = ", ".join(f"{key}: {_type(about)}" for key, about in properties.items())
    lines = [f"- {name}({signature}): {description}"]
    lines += [
        f"    {key}: {about['description']}"
        for key, about in properties.items()
        if about.get("description")
    ]
    return "\n".join(lines)


def _type(about: dict[str, Any]) -> str:
    """Write a type with all that it holds: some endpoints are sent no schema beside it."""
    if kinds := about.get("anyOf"):
        return " | ".join(map(_type, kinds))
    if choices := about.get("enum"):
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    if "const" in about:
        return json.dumps(about["const"], ensure_ascii=False)
    kind = str(about.get("type") or "any")
    if items := about.get("items"):
        return f"{kind} of {_type(items)}"
    if fields := about.get("properties"):
        return "{" + ", ".join(f"{key}: {_type(field)}" for key, field in fields.items()) + "}"
    return kind
