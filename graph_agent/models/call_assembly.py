"""Puts streamed tool calls together, whatever the server does with index, id and name."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import orjson

from graph_agent.models.reply import read_arguments


@dataclass(kw_only=True)
class _Call:
    """One call, as far as it has come."""

    id: str
    indexes: set[int]
    names: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def complete(self) -> bool:
        """Whether its arguments are whole, so that whatever follows belongs to another call."""
        if not self.arguments.strip():
            return False
        try:
            read_arguments(self.arguments)
        except ValueError:
            return False
        return True


class CallAssembly:
    """Collects the calls of one streamed reply.

    A new id or a new name opens a call; a piece of arguments alone goes on with the call of its
    index, else with the last one. An id, name or index that is repeated opens nothing, unless the
    call's arguments are whole already and more come.
    """

    def __init__(self, known_names: Collection[str] = ()) -> None:
        """Begin a reply.

        Args:
            known_names: What the model may call: tells a split name from a repeated one.
        """
        self._known = set(known_names)
        self._calls: list[_Call] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        """Take one delta of the reply's `tool_calls`."""
        function = delta.get("function") or {}
        name, call_id = _text(function.get("name")), _text(delta.get("id"))
        arguments = function.get("arguments")
        piece = arguments if isinstance(arguments, str) else _dumped(arguments)
        index = delta.get("index")
        index = index if isinstance(index, int) else None
        call = self._going_on(index, call_id, name, piece)
        if call is None:
            call = _Call(id=call_id, indexes=set())
            self._calls.append(call)
        call.id = call.id or call_id
        call.indexes |= set() if index is None else {index}
        call.names += [name] if name else []
        call.pieces.append(piece)

    def calls(self) -> Iterator[dict[str, Any]]:
        """Yield the calls as a reply that is no stream spells them."""
        for call in self._calls:
            function = {"name": self._name(call.names), "arguments": call.arguments}
            yield {"id": call.id, "type": "function", "function": function}

    def _going_on(self, index: int | None, call_id: str, name: str, piece: str) -> _Call | None:
        """Return the call that a delta goes on with, or None where it opens one."""
        if not self._calls:
            return None
        call = self._addressed(index, call_id)
        if call is None:
            # An index alone is no sign of a new call: some servers begin to count late.
            return None if call_id or name else self._calls[-1]
        if call_id and call.id and call_id != call.id:
            return None
        if not name:
            return call
        return call if self._names_again(call, name, piece, same=bool(call_id)) else None

    def _addressed(self, index: int | None, call_id: str) -> _Call | None:
        """Return the newest call of that index, or of that id where there is no index."""
        for call in reversed(self._calls):
            if index is not None and call.indexes:
                if index in call.indexes:
                    return call
            elif not call_id or not call.id or call_id == call.id:
                return call
        return None

    def _names_again(self, call: _Call, name: str, piece: str, *, same: bool) -> bool:
        """Tell a name that is repeated, or goes on, from the name of another call."""
        if call.complete and piece.strip():
            return False
        if not call.names:
            return True
        if call.arguments:
            return same or name == call.names[-1]
        return same or not piece or "".join([*call.names, name]) in self._known

    def _name(self, pieces: list[str]) -> str:
        """Return the name that the pieces mean: repeated, split, or growing."""
        joined = "".join(pieces)
        if not pieces or joined in self._known:
            return joined
        if pieces[-1] in self._known or len(set(pieces)) == 1:
            return pieces[-1]
        grows = all(b.startswith(a) for a, b in pairwise(pieces))
        return pieces[-1] if grows else joined


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dumped(arguments: object) -> str:
    """Spell arguments that came as an object, not as its text."""
    return "" if arguments is None else orjson.dumps(arguments).decode()
