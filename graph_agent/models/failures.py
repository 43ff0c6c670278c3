"""Sorts what can go wrong in a model call, once: passing, refused, or too long."""

import re
from collections.abc import Mapping, Set

import httpx
from langchain_core import exceptions as langchain_errors

from graph_agent.errors import (
    ContextOverflowError,
    GraphAgentError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from graph_agent.models.client_errors import errors_of
from graph_agent.models.endpoint_error import EndpointError
from graph_agent.models.signatures import is_overflow, is_used_up

PASSING_STATUS = {408, 409, 429}
"""HTTP statuses after which the same request may succeed, besides most of 500 and up."""
NOT_IMPLEMENTED = 501
"""The only status from 500 up that says: never."""
PAYMENT_REQUIRED = 402
"""The HTTP status of an account that is used up; some servers say it with another."""
INVALID_LABELS = {
    "authentication_error",
    "invalid_request_error",
    "not_found_error",
    "permission_error",
}
"""What endpoints call a refusal that comes without a status, as the first piece of a stream."""

CLIENTS_PREFIX = re.compile(r"^Error code: \d+( - )?")
"""What OpenAI's client puts before a server's words; the status is told anyway."""
KEY_HEADERS = ("authorization", "api-key", "x-api-key")
"""Request headers that hold a key."""
LONGEST_TEXT = 500
"""Characters of a server's words that are passed on: some send a whole page."""


def classify(error: Exception) -> GraphAgentError:
    """Translate an error of any provider's client into ours; the text names what to do."""
    if isinstance(error, GraphAgentError):
        return error
    too_late = (httpx.TimeoutException, TimeoutError, *errors_of("openai", "APITimeoutError"))
    if isinstance(error, too_late):
        return ModelUnavailableError("The model did not answer in time. Try again later.")
    lost = (httpx.TransportError, ConnectionError, *errors_of("openai", "APIConnectionError"))
    if isinstance(error, lost):
        return _unreachable(error)
    words, labels = _words(error, error), _labels(error)
    return _by_meaning(error, words, labels) or _by_status(error, words, labels)


def _by_meaning(error: Exception, words: str, labels: Set[str]) -> ModelError | None:
    """Sort out what the status does not tell, or tells wrongly."""
    status = _status(error)
    known = isinstance(error, langchain_errors.ContextOverflowError)
    if known or is_overflow(status, words, labels):
        return ContextOverflowError(f"The prompt does not fit the model: {words}", status=status)
    if status == PAYMENT_REQUIRED or is_used_up(words, labels):
        # It may come as a 429, but waiting does not help.
        return ModelRefusedError(
            f"The account of the model's endpoint is used up{_number(status)}: {words} "
            "Check its plan and its balance, or use another model.",
            status=status or PAYMENT_REQUIRED,
        )
    return None


def _by_status(error: Exception, words: str, labels: Set[str]) -> ModelError:
    status = _status(error)
    if status is None:
        return _without_status(error, words, labels)
    if status in PASSING_STATUS or (status >= 500 and status != NOT_IMPLEMENTED):
        return ModelUnavailableError(
            f"The model's endpoint answered {status}: {words} Try again later."
        )
    return ModelRefusedError(_refusal(status, words), status=status)


def _without_status(error: Exception, words: str, labels: Set[str]) -> ModelError:
    if labels & INVALID_LABELS:
        return ModelRefusedError(_refusal(None, words))
    if isinstance(_root(error), httpx.TransportError | ConnectionError):
        # Other providers' clients wrap what their connection met in an error of their own.
        return _unreachable(error)
    by_api = isinstance(error, (EndpointError, *errors_of("openai", "APIError")))
    if by_api or getattr(error, "is_retryable", False):
        return ModelUnavailableError(f"The model's endpoint broke off: {words} Try again later.")
    return ModelError(f"The model call failed: {type(error).__name__}: {words}")


def _unreachable(error: Exception) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The model's endpoint cannot be reached: {_words(error, _root(error))} "
        "Check that it runs, and `base_url`."
    )


def _refusal(status: int | None, words: str) -> str:
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
        f"The model's endpoint refused{_number(status)}: {words} If it is about something that the "
        "model cannot do, say so by its `abilities` in graph-agent.toml."
    )


def _number(status: int | None) -> str:
    return f" ({status})" if status else ""


def _status(error: Exception) -> int | None:
    """Find the HTTP status, wherever the provider's client keeps it."""
    places = (
        getattr(error, "status_code", None),
        getattr(getattr(error, "response", None), "status_code", None),
        getattr(error, "code", None),
    )
    found = (int(p) if isinstance(p, str) and p.isdecimal() else p for p in places)
    return next((p for p in found if isinstance(p, int) and 400 <= p < 600), None)


def _labels(error: Exception) -> set[str]:
    """Collect the short names that an endpoint gave its error beside the words."""
    found = (getattr(error, "code", None), getattr(error, "type", None))
    return {label for label in found if isinstance(label, str)}


def _words(error: Exception, root: BaseException) -> str:
    """Return what `root` says as one sentence, without the key that some servers repeat."""
    said = str(getattr(root, "message", None) or root) or type(root).__name__
    text = CLIENTS_PREFIX.sub("", " ".join(said.split()))
    for key in _keys(error):
        text = text.replace(key, "***")
    return f"{text[:LONGEST_TEXT].rstrip('.')}."


def _keys(error: Exception) -> list[str]:
    """Collect the keys that were sent, where OpenAI's client tells."""
    if not isinstance(error, errors_of("openai", "APIError")):
        return []
    headers: Mapping[str, str] = getattr(error, "request").headers  # noqa: B009  # see `errors_of`
    values = [headers.get(name, "").strip() for name in KEY_HEADERS]
    return [value.removeprefix("Bearer ") for value in values if value]


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None and error.__cause__ is not error:
        error = error.__cause__
    return error
