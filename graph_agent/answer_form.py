"""The form in which a run gives its answer as data: chosen by the caller, carried as plain data."""

from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from graph_agent.settings import RunOptions
from graph_agent.structured.shape import Schema, checked_form, instance_of, json_schema_of

Instance = BaseModel | dict[str, Any] | None
"""Data in the form that was asked for; None where there are none."""


class ModelSchema(dict[str, Any]):
    """The JSON schema of a pydantic model: plain data, which in this process knows its model."""

    def __init__(self, model: type[BaseModel]) -> None:
        super().__init__(json_schema_of(model))
        self.model = model


def with_form(options: RunOptions | None, form: Schema | None) -> RunOptions:
    """Put a form into the options of a run, and check the one that is there.

    Raises:
        ConfigError: It is no JSON schema, or not one of an object.
    """
    options = options or RunOptions()
    if form is not None:
        plain = ModelSchema(form) if isinstance(form, type) else dict(form)
        options = replace(options, response_format=plain)
    checked_form(options.response_format)
    return options


def form_of(options: RunOptions | None) -> Schema | None:
    """Return the form that a run's options ask for: the pydantic model itself, where it is known.

    >>> class Point(BaseModel):
    ...     x: int
    >>> form_of(with_form(None, Point)) is Point
    True
    """
    given = options.response_format if options else None
    return given.model if isinstance(given, ModelSchema) else given


def instance(data: dict[str, Any] | None, form: Schema | None) -> tuple[Instance, str | None]:
    """Return data in their form, or why they are not in it: another one was asked for before."""
    if data is None or not isinstance(form, type):
        return data, None
    try:
        return instance_of(form, data), None
    except ValidationError as error:
        return None, f"The saved data do not fit `{form.__name__}`: {error}"
