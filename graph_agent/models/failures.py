"""Sorts what can go wrong in a model call, once: passing, refused, or too long."""

import asyncio
import re

import httpx
import openai

from graph_agent.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)

PASSING_STATUS = {408, 409, 429, 500, 502, 503, 504, 529}
"""HTTP statuses after which the same request may succeed."""

OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|prompt is too long|input is too long"
    r"|too many tokens|exceed\w* .{0,40}(context|token)|reduce the length",
    re.IGNORECASE,
)
"""How servers say that a prompt does not fit."""


def classify(error: Exception) -> ModelError:
    """Translate an error of the client into ours; the text names what to do."""
    match error:
        case ModelError():
            return error
        case openai.APIStatusError():
            return _by_status(error)
        case openai.APITimeoutError() | TimeoutError() | asyncio.TimeoutError():
            return ModelUnavailableError("The model did not answer in time. Try again later.")
        case openai.APIConnectionError() | httpx.TransportError() | ConnectionError():
            return ModelUnavailableError(
                f"The model's endpoint cannot be reached ({_cause(error)}). "
                "Check that it runs, and `base_url`."
            )
        case openai.APIError():
            return ModelUnavailableError(f"The model's endpoint broke off: {error.message}")
    return ModelError(f"The model call failed: {type(error).__name__}: {error}")


def _by_status(error: openai.APIStatusError) -> ModelError:
    status, text = error.status_code, error.message
    if error.code == "context_length_exceeded" or (status in {400, 413} and OVERFLOW.search(text)):
        return ContextOverflowError(f"The prompt does not fit the model: {text}", status=status)
    if status in PASSING_STATUS:
        return ModelUnavailableError(f"The model's endpoint answered {status}: {text}")
    if status in {401, 403}:
        return ModelRefusedError(
            f"The model's endpoint refused the key ({status}): {text} "
            "Check the environment variable that holds it.",
            status=status,
        )
    if status == 404:
        return ModelRefusedError(
            f"The endpoint does not know the model or the address ({status}): {text} "
            "Check the model's name and `base_url`; `graph-agent models` lists what is set up.",
            status=status,
        )
    return ModelRefusedError(f"The model's endpoint refused ({status}): {text}", status=status)


def _cause(error: BaseException) -> str:
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    return str(root) or type(root).__name__
