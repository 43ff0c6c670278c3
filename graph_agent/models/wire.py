"""Puts messages into the form that OpenAI-compatible endpoints take, each one once.

The client's own transformation walks the whole history at every call. Here each message is
encoded when it is first sent; a request is a join of those pieces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from operator import is_
from typing import Any

import orjson
from langchain_core.messages import BaseMessage

from graph_agent.message_cache import PerMessage
from graph_agent.models.message_form import joined, to_wire
from graph_agent.models.wire_rules import WireRules

USUAL = WireRules()
OPENING = {"role": "user", "content": "(The conversation begins.)"}
"""Stands first where an endpoint wants a user to speak first, and none does."""
LOOK_BACK = 64
"""Messages at the end among which the request before is looked for."""
GO_ON = {"role": "user", "content": "Go on."}
"""Stands last where an endpoint does not let the assistant's words be continued."""


@dataclass
class Arranged:
    """Messages as an endpoint wants them: what is sent as one, and in which order."""

    system: list[BaseMessage] = field(default_factory=list)
    """What joins the one system message."""
    groups: dict[int, list[BaseMessage]] = field(default_factory=dict)
    """What is merged, by its place."""
    roles: list[str] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    """The JSON of each place; of a group, that of its first message."""
    last: BaseMessage | None = None
    """The newest message that stands in a place."""
    covers: int = 0
    """How many messages it is made of."""

    def join(self, message: BaseMessage) -> None:
        """Let a message join the newest place."""
        assert self.last is not None, "there is a place to join"
        self.groups.setdefault(len(self.roles) - 1, [self.last]).append(message)


class Encoder:
    """Encodes messages by one set of rules, each once."""

    def __init__(self, rules: WireRules) -> None:
        self._rules = rules
        self._one = PerMessage[tuple[str, bytes]](self._encode)
        self._joined = PerMessage[list[tuple[list[BaseMessage], bytes]]](lambda _: [])
        self._newest = PerMessage[list[tuple[list[BaseMessage], Arranged]]](lambda _: [])
        """By the last message of a request: all of them, and how they were arranged."""

    def pieces(self, messages: Sequence[BaseMessage]) -> list[bytes]:
        """Return the messages as JSON, arranged as the endpoint wants them."""
        arranged = self._arranged(messages)
        if self._rules.system == "user" and arranged.system:
            arranged = self._by_user(arranged, messages)
        pieces, roles = [*arranged.pieces], arranged.roles
        for place, group in arranged.groups.items():
            pieces[place] = self._whole(group)
        if self._rules.user_first:
            at = next((place for place, role in enumerate(roles) if role != "system"), len(roles))
            pieces[at:at] = [] if roles[at : at + 1] == ["user"] else [orjson.dumps(OPENING)]
        if arranged.system:
            pieces.insert(0, self._whole(arranged.system))
        if roles and roles[-1] == "assistant" and not self._rules.assistant_last:
            pieces.append(orjson.dumps(GO_ON))
        return pieces

    def _arranged(self, messages: Sequence[BaseMessage]) -> "Arranged":
        """Find out what is sent as one; who says nothing is left out.

        A request mostly begins as the one before it, whose arrangement is only added to.
        """
        merging, system_first = self._rules.alternate_roles, self._rules.system != "anywhere"
        arranged = self._beginning(messages)
        for message in messages[arranged.covers :]:
            role, data = self._one(message)
            if not data:
                continue
            if role == "system" and system_first:
                arranged.system.append(message)
                continue
            if merging and arranged.last is not None and role == arranged.roles[-1] != "tool":
                arranged.join(message)
            else:
                arranged.roles.append(role)
                arranged.pieces.append(data)
            arranged.last = message
        arranged.covers = len(messages)
        if messages:
            self._newest(messages[-1])[:] = [([*messages], arranged)]
        return arranged

    def _beginning(self, messages: Sequence[BaseMessage]) -> "Arranged":
        """Take the arrangement of the newest request that these messages begin with."""
        for end in range(len(messages), max(0, len(messages) - LOOK_BACK), -1):
            known = self._newest(messages[end - 1])
            # Compaction may change any message of a prompt, and not its length.
            if known and len(known[0][0]) == end and _same(known[0][0], messages[:end]):
                # Only the newest is kept: all of them would take the square of their number.
                return known.pop()[1]
        return Arranged()

    def _by_user(self, arranged: "Arranged", messages: Sequence[BaseMessage]) -> "Arranged":
        """Put the system's words at the head of the first user message."""
        system, groups = arranged.system, arranged.groups
        if arranged.roles[:1] == ["user"]:
            first = next(message for message in messages if self._one(message)[0] == "user")
            groups = groups | {0: [*system, *groups.get(0, [first])]}
            return replace(arranged, system=[], groups=groups)
        shifted = {place + 1: group for place, group in groups.items()}
        return replace(
            arranged,
            system=[],
            groups={0: system, **shifted},
            roles=["user", *arranged.roles],
            pieces=[b"", *arranged.pieces],
        )

    def _whole(self, group: list[BaseMessage]) -> bytes:
        """Encode a group, and remember it for as long as it does not grow."""
        first, *rest = group
        known = self._joined(first)
        if not known or not _same(known[0][0], rest):
            data = _encoded(joined([to_wire(each, self._rules) for each in group], self._rules))
            known[:] = [(rest, data)]
        return known[0][1]

    def _encode(self, message: BaseMessage) -> tuple[str, bytes]:
        wire = to_wire(message, self._rules)
        silent = wire["role"] in ("assistant", "system") and not (
            wire.get("content") or wire.get("tool_calls")
        )
        return wire["role"], b"" if silent else _encoded(wire)


def _encoded(wire: Mapping[str, Any]) -> bytes:
    """Encode as no more bytes than it takes: orjson's own hold the room that it wrote into."""
    return memoryview(orjson.dumps(wire)).tobytes()


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
    return len(some) == len(others) and all(map(is_, some, others))
