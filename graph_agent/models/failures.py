"""Sorts what can go wrong in a model call, once: passing, refused, or too long."""

import re
from collections.abc import Mapping

import httpx
import openai
from langchain_core import exceptions as langchain_errors

from graph_agent.errors import (
    ContextOverflowError,
    GraphAgentError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)

PASSING_STATUS = {408, 409, 429}
"""HTTP statuses after which the same request may succeed, besides most of 500 and up."""
NOT_IMPLEMENTED = 501
"""The only status from 500 up that says: never."""

OVERFLOW_STATUS = {400, 413, 422, 429, 500}
"""HTTP statuses with which servers report a prompt that does not fit."""
OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|prompt is too long|input is too long"
    r"|too many tokens|exceed\w* .{0,40}(context|token)|reduce the length",
    re.IGNORECASE,
)
"""How servers say that a prompt does not fit."""

CLIENTS_PREFIX = re.compile(r"^Error code: \d+( - )?")
"""What OpenAI's client puts before a server's words; the status is told anyway."""
KEY_HEADERS = ("authorization", "api-key", "x-api-key")
"""Request headers that hold a key."""
LONGEST_TEXT = 500
"""Characters of a server's words that are passed on: some send a whole page."""


def classify(error: Exception) -> GraphAgentError:
    """Translate an error of any provider's client into ours; the text names what to do."""
    match error:
        case GraphAgentError():
            return error
        case openai.APITimeoutError() | httpx.TimeoutException() | TimeoutError():
            return ModelUnavailableError("The model did not answer in time. Try again later.")
        case openai.APIConnectionError() | httpx.TransportError() | ConnectionError():
            return ModelUnavailableError(
                f"The model's endpoint cannot be reached: {_words(error, _root(error))} "
                "Check that it runs, and `base_url`."
            )
    status, words = _status(error), _words(error, error)
    if status is not None:
        return _by_status(status, words, code=getattr(error, "code", None))
    if isinstance(error, langchain_errors.ContextOverflowError):
        return ContextOverflowError(f"The prompt does not fit the model: {words}")
    if isinstance(error, openai.APIError) or getattr(error, "is_retryable", False):
        return ModelUnavailableError(f"The model's endpoint broke off: {words} Try again later.")
    return ModelError(f"The model call failed: {type(error).__name__}: {words}")


def _by_status(status: int, words: str, *, code: object) -> ModelError:
    too_long = status in OVERFLOW_STATUS and OVERFLOW.search(words)
    if code == "context_length_exceeded" or too_long:
        return ContextOverflowError(f"The prompt does not fit the model: {words}", status=status)
    if status in PASSING_STATUS or (status >= 500 and status != NOT_IMPLEMENTED):
        return ModelUnavailableError(
            f"The model's endpoint answered {status}: {words} Try again later."
        )
    return ModelRefusedError(_refusal(status, words), status=status)


def _refusal(status: int, words: str) -> str:
    match status:
        case 401 | 403:
            return (
                f"The model's endpoint refused the key ({status}): {words} "
                "Check the environment variable that holds it."
            )
        case 404:
            return (
                f"The endpoint does not know the model or the address ({status}): {words} Check "
                "the model's name and `base_url`; `graph-agent models` lists what is set up."
            )
    return (
        f"The model's endpoint refused ({status}): {words} If it is about something that the "
        "model cannot do, say so by its `abilities` in graph-agent.toml."
    )


def _status(error: Exception) -> int | None:
    """Find the HTTP status, wherever the provider's client keeps it."""
    places = (
        getattr(error, "status_code", None),
        getattr(getattr(error, "response", None), "status_code", None),
        getattr(error, "code", None),
    )
    return next((p for p in places if isinstance(p, int) and 400 <= p < 600), None)


def _words(error: Exception, root: BaseException) -> str:
    """Return what `root` says as one sentence, without the key that some servers repeat."""
    said = str(getattr(root, "message", None) or root) or type(root).__name__
    text = CLIENTS_PREFIX.sub("", " ".join(said.split()))
    if isinstance(error, openai.APIError):
        for key in _keys(error.request.headers):
            text = text.replace(key, "***")
    return f"{text[:LONGEST_TEXT].rstrip('.')}."


def _keys(headers: Mapping[str, str]) -> list[str]:
    values = [headers.get(name, "").strip() for name in KEY_HEADERS]
    return [value.removeprefix("Bearer ") for value in values if value]


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error
