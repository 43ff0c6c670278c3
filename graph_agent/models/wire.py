"""Puts messages into the form that OpenAI-compatible endpoints take, each one once.

The client's own transformation walks the whole history at every call. Here each message is
encoded when it is first sent; a request is a join of those pieces.
"""

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Generic, TypeAlias, TypeVar

import orjson
from langchain_core.messages import BaseMessage

from graph_agent.models.message_form import joined, to_wire
from graph_agent.models.wire_rules import WireRules

T = TypeVar("T")
_Arranged: TypeAlias = tuple[
    list[BaseMessage], dict[int, list[BaseMessage]], list[str], list[bytes]
]
"""The system's messages; by its place, what is merged; the role and the JSON of each place."""

USUAL = WireRules()
OPENING = {"role": "user", "content": "(The conversation begins.)"}
"""Stands first where an endpoint wants a user to speak first, and none does."""
GO_ON = {"role": "user", "content": "Go on."}
"""Stands last where an endpoint does not let the assistant's words be continued."""


class PerMessage(Generic[T]):
    """Remembers one value for each message object, for as long as the object lives."""

    def __init__(self, make: Callable[[BaseMessage], T]) -> None:
        self._make = make
        self._known: dict[int, tuple[weakref.ref[BaseMessage], T]] = {}

    def __call__(self, message: BaseMessage) -> T:
        """Return the value, made at the first call."""
        key = id(message)
        entry = self._known.get(key)
        if entry is not None and entry[0]() is message:
            return entry[1]
        value = self._make(message)
        forget = weakref.ref(message, lambda _: self._known.pop(key, None))
        self._known[key] = (forget, value)
        return value


class Encoder:
    """Encodes messages by one set of rules, each once."""

    def __init__(self, rules: WireRules) -> None:
        self._rules = rules
        self._one = PerMessage[tuple[str, bytes]](self._encode)
        self._joined = PerMessage[list[tuple[list[BaseMessage], bytes]]](lambda _: [])

    def pieces(self, messages: Sequence[BaseMessage]) -> list[bytes]:
        """Return the messages as JSON, arranged as the endpoint wants them."""
        system, groups, roles, pieces = self._arranged(messages)
        for place, group in groups.items():
            pieces[place] = self._whole(group)
        if self._rules.user_first:
            at = next((place for place, role in enumerate(roles) if role != "system"), len(roles))
            pieces[at:at] = [] if roles[at : at + 1] == ["user"] else [orjson.dumps(OPENING)]
        if system:
            pieces.insert(0, self._whole(system))
        if roles and roles[-1] == "assistant" and not self._rules.assistant_last:
            pieces.append(orjson.dumps(GO_ON))
        return pieces

    def _arranged(self, messages: Sequence[BaseMessage]) -> _Arranged:
        """Find out what is sent as one; who says nothing is left out."""
        merging, system_first = self._rules.alternate_roles, self._rules.system != "anywhere"
        system: list[BaseMessage] = []
        groups: dict[int, list[BaseMessage]] = {}
        roles: list[str] = []
        pieces: list[bytes] = []
        before: BaseMessage | None = None
        for message in messages:
            role, data = self._one(message)
            if not data:
                continue
            if role == "system" and system_first:
                system.append(message)
                continue
            if merging and before is not None and role == roles[-1] != "tool":
                groups.setdefault(len(roles) - 1, [before]).append(message)
            else:
                roles.append(role)
                pieces.append(data)
            before = message
        if self._rules.system == "user" and system:
            return self._by_user(system, messages, groups, roles, pieces)
        return system, groups, roles, pieces

    def _by_user(
        self,
        system: list[BaseMessage],
        messages: Sequence[BaseMessage],
        groups: dict[int, list[BaseMessage]],
        roles: list[str],
        pieces: list[bytes],
    ) -> _Arranged:
        """Put the system's words at the head of the first user message."""
        if roles[:1] == ["user"]:
            first = next(message for message in messages if self._one(message)[0] == "user")
            return [], groups | {0: [*system, *groups.get(0, [first])]}, roles, pieces
        shifted = {place + 1: group for place, group in groups.items()}
        return [], {0: system, **shifted}, ["user", *roles], [b"", *pieces]

    def _whole(self, group: list[BaseMessage]) -> bytes:
        """Encode a group, and remember it for as long as it does not grow."""
        first, *rest = group
        known = self._joined(first)
        if not known or not _same(known[0][0], rest):
            data = orjson.dumps(joined([to_wire(each, self._rules) for each in group], self._rules))
            known[:] = [(rest, data)]
        return known[0][1]

    def _encode(self, message: BaseMessage) -> tuple[str, bytes]:
        wire = to_wire(message, self._rules)
        silent = wire["role"] in ("assistant", "system") and not (
            wire.get("content") or wire.get("tool_calls")
        )
        return wire["role"], b"" if silent else orjson.dumps(wire)


@cache
def encoder_for(rules: WireRules) -> Encoder:
    """Return the one encoder of a set of rules."""
    return Encoder(rules)


def request_body(
    parameters: Mapping[str, Any], messages: Sequence[BaseMessage], rules: WireRules = USUAL
) -> bytes:
    """Join the parameters of a call and its messages into a request's body.

    Raises:
        TypeError: A message is of a kind that no endpoint takes.
    """
    head = orjson.dumps(parameters)
    pieces = b",".join(encoder_for(rules).pieces(messages))
    return head[:-1] + (b"," if parameters else b"") + b'"messages":[' + pieces + b"]}"


def shaped(parameters: Mapping[str, Any], rules: WireRules) -> dict[str, Any]:
    """Put the parameters of a call, its limit as `max_tokens`, as the endpoint takes them."""
    refused = {
        "temperature": not rules.temperature,
        "parallel_tool_calls": not rules.parallel_tool_calls,
        "stream_options": not rules.stream_usage,
        "response_format": not rules.json_beside_tools and bool(parameters.get("tools")),
    }
    shape = {name: value for name, value in parameters.items() if not refused.get(name)}
    if "max_tokens" in shape:
        shape[rules.token_limit] = shape.pop("max_tokens")
    _weaken_format(shape, rules)
    _weaken_choice(shape, rules)
    return shape


def _weaken_format(shape: dict[str, Any], rules: WireRules) -> None:
    kind = (shape.get("response_format") or {}).get("type")
    if kind == "json_schema" and not rules.json_schema:
        kind, shape["response_format"] = "json_object", {"type": "json_object"}
    if kind == "json_object" and not rules.json_object:
        del shape["response_format"]


def _weaken_choice(shape: dict[str, Any], rules: WireRules) -> None:
    if shape.get("tool_choice") in (None, "auto", "none") or rules.forced_tool_choice == "named":
        return
    if rules.forced_tool_choice == "required":
        shape["tool_choice"] = "required"
    else:
        del shape["tool_choice"]


def _same(some: Sequence[BaseMessage], others: Sequence[BaseMessage]) -> bool:
    return len(some) == len(others) and all(map(lambda a, b: a is b, some, others))
