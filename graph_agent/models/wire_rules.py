"""What one endpoint takes on the wire, as flags, and what is known of some servers beforehand."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError


@dataclass(frozen=True, kw_only=True)
class WireRules:
    """How a request must look for one endpoint; the defaults suit most servers.

    A refusal changes them at run time (`adaptation`); `wire = {…}` in the config file sets them.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    system: Literal["anywhere", "first", "user"] = "first"
    """Where system messages may stand. `first`: all are joined into one at the front. `user`:
    there is no such role, and their text opens the first user message."""
    alternate_roles: bool = True
    """Neighbours of one role (tool excepted) are merged; their texts stay whole."""
    user_first: bool = False
    """A user must speak first after the system message: an opening is put in where none does."""
    assistant_last: bool = True
    """The last message may be the assistant's, to be continued. Off: a user's `Go on.` follows."""
    call_without_text: Literal["empty", "null", "absent", "filler"] = "empty"
    """The `content` of an assistant message that has calls and no text."""
    blank_texts: bool = True
    """Takes messages whose text is empty. Off: they get a filler."""
    content_lists: bool = True
    """Takes content as a list of blocks. Off: texts are joined to one string."""
    short_ids: bool = False
    """Ids of calls must be nine letters or digits; others are mapped to such."""
    reasoning_back: Literal["never", "calls", "every_call", "always"] = "never"
    """Which assistant messages carry their reasoning back: those with calls, as far as it is
    known; every one with calls, empty where it is not known; or all that have some."""
    reasoning_key: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    """The field that carries it."""
    begins_thinking: bool = False
    """Replies begin inside a think block: only its closing tag is sent."""
    tools: bool = True
    """Takes `tools`."""
    forced_tool_choice: Literal["named", "required", "auto"] = "named"
    """How a tool is forced: by its name, by `required`, or not at all."""
    parallel_tool_calls: bool = True
    """Knows the parameter `parallel_tool_calls`."""
    json_schema: bool = True
    """Takes `response_format` of type `json_schema`; else `json_object` is sent in its place."""
    json_object: bool = True
    """Takes `response_format` of type `json_object`; else none is sent in its place."""
    json_beside_tools: bool = True
    """Takes `response_format` and `tools` in one request."""
    images: bool = True
    """Takes blocks of type `image_url`; else a note stands in their place."""
    token_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the limit of a reply's tokens is called."""
    temperature: bool = True
    """Takes a `temperature`."""
    stream_usage: bool = True
    """Knows `stream_options`, by which a stream reports its usage."""
    stream_only: bool = False
    """Answers by streams alone: whole replies are put together from them."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server that is known by its address, and how its rules differ from the usual ones."""

    name: str
    address: re.Pattern[str]
    rules: Mapping[str, Any]


_LENIENT = {"system": "anywhere", "alternate_roles": False}
_OPENAI = {**_LENIENT, "token_limit": "max_completion_tokens"}
SERVERS = (
    Server(
        name="OpenAI",
        address=re.compile(r"^https://(api\.openai\.com|[\w.-]+\.openai\.azure\.com)/"),
        rules=_OPENAI,
    ),
    Server(
        name="DeepSeek",
        address=re.compile(r"^https://[\w.-]+\.deepseek\.com/"),
        rules={"reasoning_back": "every_call", "json_schema": False},
    ),
    Server(
        name="Moonshot",
        address=re.compile(r"^https://[\w.-]+\.moonshot\.(ai|cn)/"),
        rules={"reasoning_back": "every_call"},
    ),
    Server(
        name="Groq",
        address=re.compile(r"^https://[\w.-]+\.groq\.com/"),
        rules={**_LENIENT, "json_beside_tools": False},
    ),
    Server(
        name="Mistral",
        address=re.compile(r"^https://[\w.-]+\.mistral\.ai/"),
        rules={"short_ids": True, "user_first": True, "assistant_last": False},
    ),
    Server(
        name="Bedrock",
        address=re.compile(r"^https://[\w.-]+\.amazonaws\.com/"),
        rules={"blank_texts": False, "call_without_text": "null", "user_first": True},
    ),
)
"""Ollama, llama.cpp and vLLM are taken by the usual rules; what their models' templates insist on
is learned from the first refusal."""


def rules_for(base_url: str, given: Mapping[str, Any] | None = None) -> WireRules:
    """Return the rules of an endpoint: the usual, its server's, and above all what is given.

    Args:
        base_url: Where the endpoint is.
        given: Flags of `WireRules` by name, checked already.
    """
    known = next((server.rules for server in SERVERS if server.address.search(base_url)), {})
    return replace(WireRules(), **{**known, **(given or {})})


def checked_rules(given: Mapping[str, Any]) -> dict[str, Any]:
    """Check flags of a config file.

    Raises:
        ValueError: One is unknown, or has a value that it cannot have.
    """
    try:
        _RULES.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        known = ", ".join(field.name for field in fields(WireRules))
        raise ValueError(
            f"`{first['loc'][-1]}`: {first['msg'].lower()}; the wire rules are {known}"
        ) from None
    return dict(given)


_RULES = TypeAdapter(WireRules)
