"""The shape of the data that are asked for: its schema as sent, and the check of what comes."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema

from graph_agent.errors import ConfigError
from graph_agent.plain_text import cleaned
from graph_agent.structured.strict_schema import strict_form

if TYPE_CHECKING:
    from graph_agent.structured.json_schema import ObjectSchema

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
Schema = type[BaseModel] | Mapping[str, Any]
MOST_FAULTS = 3
"""Faults that a request to correct names."""
LONGEST_FAULT = 300
"""Characters of one fault: some repeat all the data."""


class UnfitError(ValueError):
    """The reply's data are missing or do not fit the schema; the text is for the model."""


@dataclass(frozen=True, kw_only=True)
class Shape(Generic[T]):
    """What data should look like."""

    name: str
    """What the data are called."""
    schema: "ObjectSchema"
    """What data are held against."""
    strict_schema: dict[str, Any] | None
    """The same in OpenAI's strict form; None where strict mode cannot say it."""
    validate: Callable[[dict[str, Any]], T]

    @property
    def words(self) -> str:
        """The schema as a prompt shows it."""
        return json.dumps(self.schema.root, ensure_ascii=False)

    def sent(self, key: str) -> dict[str, Any]:
        """Return the schema as an endpoint takes it, below `key`, strict where it can be."""
        if self.strict_schema is None:
            return {key: self.schema.root}
        return {key: self.strict_schema, "strict": True}

    def read(self, raw: Mapping[str, Any]) -> tuple[dict[str, Any], T]:
        """Return the data, cleaned, and the value that they make.

        Raises:
            UnfitError: They do not fit.
        """
        try:
            data = self.schema.without_forced_nulls(cleaned(dict(raw)))
            return data, self.validate(data)
        except RecursionError:
            raise UnfitError("it is nested too deeply") from None
        except ValueError as error:
            raise UnfitError(_fault(error)) from error


def shape_of(
    schema: Schema, *, name: str, parse_fn: Callable[[dict[str, Any]], T] | None = None
) -> Shape[Any]:
    """Read a pydantic model or a JSON schema; it stays as it is.

    Raises:
        ConfigError: It is no JSON schema, or not one of an object.
    """
    plain = _object_schema(schema)
    check = partial(instance_of, schema) if isinstance(schema, type) else _schema_check(plain)

    def validate(raw: dict[str, Any]) -> Any:
        value = check(raw)
        return parse_fn(raw) if parse_fn else value

    return Shape(
        name=name,
        schema=plain,
        strict_schema=strict_form(plain.root, takes_null=plain.takes_null),
        validate=validate,
    )


def checked_form(schema: Schema | None) -> Schema | None:
    """Return a schema as it is, once it is known to be one that data can be asked for by.

    Raises:
        ConfigError: It is no JSON schema, or not one of an object.
    """
    if schema is not None:
        _object_schema(schema)
    return schema


def json_schema_of(schema: Schema) -> Mapping[str, Any]:
    """Return the JSON schema of what validates data.

    Raises:
        ConfigError: A pydantic model holds what JSON cannot.
    """
    if not isinstance(schema, type):
        return schema
    try:
        return schema.model_json_schema()
    except PydanticInvalidForJsonSchema as error:
        raise ConfigError(
            f"`{schema.__name__}` cannot be asked for as JSON: {error.message}."
        ) from error


def instance_of(model: type[M], data: dict[str, Any]) -> M:
    """Validate data as JSON, so that a strict model still takes a date, a tuple or a set.

    Raises:
        ValidationError: They do not fit.
    """
    return model.model_validate_json(json.dumps(data))


def _object_schema(schema: Schema) -> "ObjectSchema":
    # It imports jsonschema, which takes 20 ms: runs that ask for no data need not wait for it.
    from graph_agent.structured.json_schema import ObjectSchema  # noqa: PLC0415

    return ObjectSchema.of(json_schema_of(schema))


def _schema_check(schema: "ObjectSchema") -> Callable[[dict[str, Any]], object]:
    def check(raw: dict[str, Any]) -> dict[str, Any]:
        if fault := schema.fault(raw):
            raise UnfitError(_placed(*fault))
        return raw

    return check


def _fault(error: Exception) -> str:
    """Say what does not fit, and where, in words for the model."""
    if isinstance(error, ValidationError):
        faults = error.errors(include_url=False, include_context=False)[:MOST_FAULTS]
        return "; ".join(_placed(fault["loc"], fault["msg"]) for fault in faults)
    return str(error)


def _placed(path: tuple[str | int, ...], message: str) -> str:
    place = ".".join(str(part) for part in path)
    short = message if len(message) <= LONGEST_FAULT else f"{message[:LONGEST_FAULT]}…"
    return f"{place}: {short}" if place else short
