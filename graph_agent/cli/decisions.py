"""Reads decisions about single tool calls from the command line."""

from collections.abc import Iterable
from typing import Any

import orjson

from graph_agent.errors import ConfigError


def read_decisions(texts: Iterable[str]) -> dict[str, Any]:
    """Read decisions by the ids of their calls; the engine checks what they say.

    >>> read_decisions(["a=allow", "b=deny:not him", 'c={"args": {"to": "Ann"}}'])
    {'a': 'allow', 'b': {'deny': 'not him'}, 'c': {'args': {'to': 'Ann'}}}

    Raises:
        ConfigError: One has no `=`, or JSON that cannot be read.
    """
    pairs = [text.partition("=") for text in texts]
    for call_id, sign, said in pairs:
        if not (call_id and sign):
            raise ConfigError(
                f"`--decide {call_id}{sign}{said}` is not written as "
                "ID=allow, ID=deny or ID=deny:WHY."
            )
    return {call_id.strip(): _decision(said.strip()) for call_id, _, said in pairs}


def _decision(said: str) -> Any:
    if said.startswith("{"):
        try:
            return orjson.loads(said)
        except orjson.JSONDecodeError as error:
            raise ConfigError(f"`--decide` has JSON that cannot be read: {error}.") from None
    word, colon, why = said.partition(":")
    return {word.strip(): why.strip()} if colon and why.strip() else word
