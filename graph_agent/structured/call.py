"""Asks a model for data of a given shape, from the most reliable way down to plain text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from graph_agent.errors import ConfigError, StructuredOutputError
from graph_agent.models.language_model import LanguageModel
from graph_agent.state import Usage
from graph_agent.structured.attempt import Attempt
from graph_agent.structured.levels import Level, levels
from graph_agent.structured.shape import Schema, UnfitError, shape_of
from graph_agent.usage import usage_of

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
D = TypeVar("D")
Raw = dict[str, Any]
ParseFn = Callable[[Raw], T]
"""Turns data into a domain object; a ValueError rejects them."""
RegexFallback = Callable[[str], Raw | None]
"""Reads data from a text that holds no fitting JSON."""
Model = LanguageModel | BaseChatModel
_MISSING: Any = object()


@dataclass(frozen=True, kw_only=True)
class StructuredCallResult(Generic[T]):
    """What a structured call gave, and what it took."""

    value: T
    """The pydantic instance, the domain object, the dict, or the default."""
    raw: Raw | None
    """The data as JSON; None where the default was taken."""
    level: Level | None
    """The level that succeeded; None where the default was taken."""
    calls: int
    """Requests, those that the endpoint refused too."""
    usage: Usage
    """Of every reply."""
    fault: str | None = None
    """Why the default was taken."""


@overload
async def structured_llm_call(
    model: Model,
    messages: Sequence[BaseMessage],
    schema: Schema,
    *,
    name: str = ...,
    parse_fn: ParseFn[T],
    regex_fallback: RegexFallback | None = ...,
) -> StructuredCallResult[T]: ...
@overload
async def structured_llm_call(
    model: Model,
    messages: Sequence[BaseMessage],
    schema: Schema,
    *,
    name: str = ...,
    parse_fn: ParseFn[T],
    default_value: D,
    regex_fallback: RegexFallback | None = ...,
) -> StructuredCallResult[T | D]: ...
@overload
async def structured_llm_call(
    model: Model,
    messages: Sequence[BaseMessage],
    schema: type[M],
    *,
    name: str = ...,
    regex_fallback: RegexFallback | None = ...,
) -> StructuredCallResult[M]: ...
@overload
async def structured_llm_call(
    model: Model,
    messages: Sequence[BaseMessage],
    schema: type[M],
    *,
    name: str = ...,
    default_value: D,
    regex_fallback: RegexFallback | None = ...,
) -> StructuredCallResult[M | D]: ...
@overload
async def structured_llm_call(
    model: Model,
    messages: Sequence[BaseMessage],
    schema: Mapping[str, Any],
    *,
    name: str = ...,
    regex_fallback: RegexFallback | None = ...,
) -> StructuredCallResult[Raw]: ...
@overload
async def structured_llm_call(
    model: Model,
    messages: Sequence[BaseMessage],
    schema: Mapping[str, Any],
    *,
    name: str = ...,
    default_value: D,
    regex_fallback: RegexFallback | None = ...,
) -> StructuredCallResult[Raw | D]: ...
async def structured_llm_call(
    model: Model,
    messages: Sequence[BaseMessage],
    schema: Schema,
    *,
    name: str = "result",
    parse_fn: ParseFn[Any] | None = None,
    default_value: Any = _MISSING,
    regex_fallback: RegexFallback | None = None,
) -> StructuredCallResult[Any]:
    """Ask for data of a given shape, in at most 5, 4 or 2 calls by the model's abilities.

    What an endpoint refuses is asked for one level lower, and remembered; a passing fault is
    tried again at the same level and then raised.

    Args:
        model: Who is asked: a model of the registry, or any LangChain chat model.
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
        ConfigError: `schema` is no JSON schema of an object, or there is no message.
    """
    if not messages:
        raise ConfigError("There is nothing to ask: `messages` is empty.")
    shape = shape_of(schema, name=name, parse_fn=parse_fn)
    model = LanguageModel.of(model) if isinstance(model, BaseChatModel) else model
    attempt = Attempt(model=model, messages=messages, shape=shape, regex_fallback=regex_fallback)
    for level, ask in levels(model.abilities):
        try:
            raw, value = await ask(attempt)
        except UnfitError as fault:
            attempt.faults.append(str(fault))
        else:
            return _result(attempt, value=value, raw=raw, level=level)
    failure = _failure(attempt)
    if default_value is _MISSING:
        raise failure
    return _result(attempt, value=default_value, fault=str(failure))


def _failure(attempt: Attempt) -> StructuredOutputError:
    reason = attempt.faults[-1].rstrip(".")
    return StructuredOutputError(
        f"The model gave no data that fit `{attempt.shape.name}` in {attempt.calls} calls: "
        f"{reason}. Its last reply was: {attempt.raw[:300]!r}",
        raw=attempt.raw,
    )


def _result(
    attempt: Attempt,
    *,
    value: T,
    raw: Raw | None = None,
    level: Level | None = None,
    fault: str | None = None,
) -> StructuredCallResult[T]:
    return StructuredCallResult(
        value=value,
        raw=raw,
        level=level,
        calls=attempt.calls,
        usage=usage_of(*attempt.replies),
        fault=fault,
    )
