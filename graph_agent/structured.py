"""The one way to get data from a model: three levels, from a forced call down to plain text."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast

import jsonschema
import orjson
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import BaseModel, ValidationError

from graph_agent.errors import ModelRefusedError, StructuredOutputError
from graph_agent.json_text import find_objects
from graph_agent.models.language_model import LanguageModel
from graph_agent.prompts import STRUCTURED_JSON, STRUCTURED_REFORMAT, STRUCTURED_TOOL
from graph_agent.state import Usage
from graph_agent.usage import usage_of

T = TypeVar("T")
Level = Literal["tool_call", "json_mode", "plain"]
Schema = type[BaseModel] | Mapping[str, Any]
_MISSING: Any = object()


@dataclass(frozen=True, kw_only=True)
class StructuredCallResult(Generic[T]):
    """What a structured call gave, and what it took."""

    value: T
    """The domain object, or the default."""
    raw: dict[str, Any] | None
    """The data as the model gave them; None where the default was taken."""
    level: Level | None
    """The level that succeeded; None where the default was taken."""
    calls: int
    usage: Usage


@dataclass(kw_only=True)
class _Attempt:
    """One structured call under way."""

    model: LanguageModel
    messages: list[BaseMessage]
    schema: dict[str, Any]
    name: str
    validate: Callable[[dict[str, Any]], Any]
    regex_fallback: Callable[[str], dict[str, Any] | None] | None
    replies: list[AIMessage] = field(default_factory=list)
    raw: str = ""

    async def ask(self, messages: Sequence[BaseMessage], **call: Any) -> AIMessage:
        reply = await self.model.ask(messages, **call)
        self.replies.append(reply)
        self.raw = reply.text
        return reply


class _UnfitError(ValueError):
    """The reply's data are missing or do not fit the schema."""


async def structured_llm_call(
    model: LanguageModel,
    messages: Sequence[BaseMessage],
    schema: Schema,
    *,
    name: str = "result",
    parse_fn: Callable[[dict[str, Any]], T] | None = None,
    default_value: T = _MISSING,
    regex_fallback: Callable[[str], dict[str, Any] | None] | None = None,
) -> StructuredCallResult[T]:
    """Ask for data of a given shape, in at most 5, 4 or 2 calls by the model's abilities.

    Args:
        model: Who is asked.
        messages: The request, without any word about the form.
        schema: A pydantic model or a JSON schema of an object.
        name: What the data are called.
        parse_fn: Turns the dict into a domain object; a ValueError rejects it.
        default_value: Returned on total failure.
        regex_fallback: Reads the data from plain text that holds no JSON.

    Returns:
        The value, the level that gave it, and the usage of every try.

    Raises:
        StructuredOutputError: No level gave fitting data, and there is no default.
        ModelError: The endpoint kept failing.
    """
    attempt = _Attempt(
        model=model,
        messages=list(messages),
        schema=_json_schema(schema),
        name=name,
        validate=_validator(schema, parse_fn),
        regex_fallback=regex_fallback,
    )
    for level, run in _levels(model):
        try:
            raw, value = await run(attempt)
        except (_UnfitError, ModelRefusedError):
            continue
        return _result(attempt, value=value, raw=raw, level=level)
    if default_value is not _MISSING:
        return _result(attempt, value=default_value, raw=None, level=None)
    raise StructuredOutputError(
        f"The model gave no data that fit `{name}` in {len(attempt.replies)} calls. "
        f"Its last reply was: {attempt.raw[:300]}",
        raw=attempt.raw,
    )


_Found = tuple[dict[str, Any], Any]
_Runner = Callable[[_Attempt], Awaitable[_Found]]


def _levels(model: LanguageModel) -> Iterator[tuple[Level, _Runner]]:
    if model.abilities.tool_call:
        yield "tool_call", _by_tool_call
    if model.abilities.json_mode or model.abilities.json_schema:
        yield "json_mode", _by_json_mode
    yield "plain", _by_text


async def _by_tool_call(attempt: _Attempt) -> _Found:
    tool = {
        "type": "function",
        "function": {
            "name": attempt.name,
            "description": STRUCTURED_TOOL,
            "parameters": attempt.schema,
        },
    }
    reply = await attempt.ask(attempt.messages, tools=[tool], tool_choice=attempt.name)
    for call in reply.tool_calls:
        if call["name"] == attempt.name:
            return call["args"], _validated(attempt, call["args"])
    raise _UnfitError("there is no call")


async def _by_json_mode(attempt: _Attempt) -> _Found:
    form: dict[str, Any] = {"type": "json_object"}
    if attempt.model.abilities.json_schema:
        form = {
            "type": "json_schema",
            "json_schema": {"name": attempt.name, "schema": attempt.schema},
        }
    return await _by_json(attempt, response_format=form)


async def _by_text(attempt: _Attempt) -> _Found:
    return await _by_json(attempt)


async def _by_json(attempt: _Attempt, **call: Any) -> _Found:
    """Ask for JSON as text, and once more with what was wrong."""
    request = STRUCTURED_JSON.format(schema=orjson.dumps(attempt.schema).decode())
    asked: list[BaseMessage] = _with_request(attempt.messages, request)
    reply = await attempt.ask(asked, **call)
    try:
        return _read(attempt, reply)
    except _UnfitError as fault:
        again = HumanMessage(STRUCTURED_REFORMAT.format(fault=fault))
        reply = await attempt.ask([*asked, AIMessage(reply.text or "{}"), again], **call)
        return _read(attempt, reply)


def _with_request(messages: Sequence[BaseMessage], request: str) -> list[BaseMessage]:
    """Append the request to the last message, so that roles go on alternating."""
    *before, last = messages
    return [*before, HumanMessage(f"{last.text}\n\n{request}")]


def _read(attempt: _Attempt, reply: AIMessage) -> _Found:
    found = find_objects(reply.text)
    if not found and attempt.regex_fallback and (by_pattern := attempt.regex_fallback(reply.text)):
        found = [by_pattern]
    if not found:
        raise _UnfitError("there is no JSON object")
    return found[0], _validated(attempt, found[0])


def _validated(attempt: _Attempt, raw: dict[str, Any]) -> Any:
    try:
        return attempt.validate(raw)
    except (ValidationError, jsonschema.ValidationError, ValueError) as error:
        raise _UnfitError(_fault(error)) from error


def _fault(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return error.message if isinstance(error, jsonschema.ValidationError) else str(error)


def _json_schema(schema: Schema) -> dict[str, Any]:
    if isinstance(schema, type):
        return schema.model_json_schema()
    return dict(schema)


def _validator(
    schema: Schema, parse_fn: Callable[[dict[str, Any]], T] | None
) -> Callable[[dict[str, Any]], T]:
    def validate(raw: dict[str, Any]) -> T:
        value: object = raw
        if isinstance(schema, type):
            value = schema.model_validate(raw)
        else:
            jsonschema.validate(raw, schema)
        return parse_fn(raw) if parse_fn else cast("T", value)

    return validate


def _result(
    attempt: _Attempt, *, value: T, raw: dict[str, Any] | None, level: Level | None
) -> StructuredCallResult[T]:
    return StructuredCallResult(
        value=value,
        raw=raw,
        level=level,
        calls=len(attempt.replies),
        usage=usage_of(*attempt.replies),
    )
