"""The one way to get data from a model: three levels, from a forced call down to plain text."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast

import jsonschema
import orjson
from jsonschema.validators import validator_for
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import BaseModel, ValidationError

from graph_agent.errors import (
    ConfigError,
    ContextOverflowError,
    ModelRefusedError,
    StructuredOutputError,
)
from graph_agent.json_text import find_objects
from graph_agent.models.language_model import LanguageModel
from graph_agent.prompts import STRUCTURED_JSON, STRUCTURED_REFORMAT, STRUCTURED_TOOL
from graph_agent.state import Usage
from graph_agent.usage import usage_of

T = TypeVar("T")
Level = Literal["tool_call", "json_mode", "plain"]
Schema = type[BaseModel] | Mapping[str, Any]
_MISSING: Any = object()

NOT_ABLE = {400, 404, 405, 415, 422, 501}
"""HTTP statuses with which an endpoint says that it cannot do what was asked."""
CUT_OFF = "it was cut off by the output limit; send a shorter one"


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
        name: What the data are called: letters, digits, `_` and `-`, at most 64.
        parse_fn: Turns the dict into a domain object; a ValueError rejects it.
        default_value: Returned on total failure.
        regex_fallback: Reads the data from plain text that holds no fitting JSON.

    Returns:
        The value, the level that gave it, and the usage of every try.

    Raises:
        StructuredOutputError: No level gave fitting data, and there is no default.
        ModelError: The endpoint kept failing, refused the key, or the prompt does not fit.
        ConfigError: `schema` is no JSON schema, or there is no message.
    """
    if not messages:
        raise ConfigError("There is nothing to ask: `messages` is empty.")
    attempt = _Attempt(
        model=model,
        messages=list(messages),
        schema=_json_schema(schema),
        name=name,
        validate=_validator(schema, parse_fn),
        regex_fallback=regex_fallback,
    )
    fault: Exception | None = None
    for level, run in _levels(model):
        try:
            raw, value = await run(attempt)
        except (_UnfitError, ModelRefusedError) as error:
            if isinstance(error, ModelRefusedError) and not _is_inability(error):
                raise
            fault = error
        else:
            return _result(attempt, value=value, raw=raw, level=level)
    if default_value is not _MISSING:
        return _result(attempt, value=default_value, raw=None, level=None)
    calls, reason = len(attempt.replies), str(fault).rstrip(".")
    raise StructuredOutputError(
        f"The model gave no data that fit `{name}` in {calls} calls: {reason}. "
        f"Its last reply was: {attempt.raw[:300]!r}",
        raw=attempt.raw,
    ) from fault


_Found = tuple[dict[str, Any], Any]
_Runner = Callable[[_Attempt], Awaitable[_Found]]


def _levels(model: LanguageModel) -> Iterator[tuple[Level, _Runner]]:
    if model.abilities.tool_call:
        yield "tool_call", _by_tool_call
    if model.abilities.json_mode or model.abilities.json_schema:
        yield "json_mode", _by_json_mode
    yield "plain", _by_text


def _is_inability(error: ModelRefusedError) -> bool:
    """Tell an endpoint that cannot do it so from one that would refuse the request anyhow."""
    return error.status in NOT_ABLE and not isinstance(error, ContextOverflowError)


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
    """Add the request to the user's last words, so that roles go on alternating."""
    *before, last = messages
    if not isinstance(last, HumanMessage):
        return [*messages, HumanMessage(request)]
    if isinstance(last.content, str):
        return [*before, HumanMessage(f"{last.content}\n\n{request}")]
    return [*before, HumanMessage([*last.content, {"type": "text", "text": request}])]


def _read(attempt: _Attempt, reply: AIMessage) -> _Found:
    """Return the first data in a text that fit, else say why the first ones do not."""
    if reply.response_metadata.get("finish_reason") == "length":
        raise _UnfitError(CUT_OFF)
    fault = _UnfitError("there is no JSON object")
    for number, raw in enumerate(_candidates(attempt, reply.text)):
        try:
            return raw, _validated(attempt, raw)
        except _UnfitError as error:
            fault = error if number == 0 else fault
    raise fault


def _candidates(attempt: _Attempt, text: str) -> Iterator[dict[str, Any]]:
    yield from find_objects(text)
    if attempt.regex_fallback and (by_pattern := attempt.regex_fallback(text)):
        yield by_pattern


def _validated(attempt: _Attempt, raw: dict[str, Any]) -> Any:
    try:
        return attempt.validate(raw)
    except (jsonschema.ValidationError, ValueError) as error:
        raise _UnfitError(_fault(error)) from error


def _fault(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return error.message if isinstance(error, jsonschema.ValidationError) else str(error)


def _json_schema(schema: Schema) -> dict[str, Any]:
    return schema.model_json_schema() if isinstance(schema, type) else {"type": "object", **schema}


def _validator(
    schema: Schema, parse_fn: Callable[[dict[str, Any]], T] | None
) -> Callable[[dict[str, Any]], T]:
    check = _check(schema)

    def validate(raw: dict[str, Any]) -> T:
        value = check(raw)
        return parse_fn(raw) if parse_fn else cast("T", value)

    return validate


def _check(schema: Schema) -> Callable[[dict[str, Any]], object]:
    """Return what validates data, and gives them back as the schema has them."""
    if isinstance(schema, type):
        return schema.model_validate
    kind = validator_for(schema)
    try:
        kind.check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        raise ConfigError(f"The schema is no JSON schema: {error.message}.") from error
    validator = kind(schema)

    def check(raw: dict[str, Any]) -> dict[str, Any]:
        validator.validate(raw)
        return raw

    return check


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
