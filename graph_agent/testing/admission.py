"""Decides whether a request is let in: its bytes, its key, its rules, its size."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson

from graph_agent.testing.profiles import Profile
from graph_agent.testing.refusal import Refusal
from graph_agent.testing.replies import Json
from graph_agent.testing.request_rules import text_is_unicode
from graph_agent.testing.rules import find_refusal


@dataclass(frozen=True, kw_only=True)
class Admitted:
    """A request as it was read, and the refusal if it may not come in."""

    body: Json
    """Empty where the bytes were no JSON object."""
    tokens: int
    """Size of the prompt; 0 where it was refused before it was counted."""
    refusal: Refusal | None


class Admission:
    """The checks of one endpoint, which remember the reasoning that they must see again."""

    def __init__(
        self,
        profile: Profile,
        *,
        api_key: str | None,
        context_limit: int | None,
        count: Callable[[Json], int],
    ) -> None:
        self._profile = profile
        self._api_key = api_key
        self._context_limit = context_limit
        self._count = count
        self._produced: dict[str, set[str | None]] = {}

    def admit(self, raw: bytes, headers: Mapping[str, str]) -> Admitted:
        """Read a request and check it."""
        body, refusal = read_body(raw)
        refusal = self._key_refusal(headers) or refusal
        refusal = refusal or find_refusal(body, self._profile, self._produced)
        if refusal is not None:
            return Admitted(body=body, tokens=0, refusal=refusal)
        tokens = self._count(body)
        return Admitted(body=body, tokens=tokens, refusal=self._overflow(tokens))

    def remember(self, message: Json) -> None:
        """Note the reasoning behind a message's calls, for `needs_reasoning_back`."""
        if self._profile.needs_reasoning_back:
            for call in message.get("tool_calls") or []:
                reasoning = self._produced.setdefault(call["id"], set())
                reasoning.add(message.get("reasoning_content"))

    def _key_refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        if self._api_key is None or headers.get("authorization") == f"Bearer {self._api_key}":
            return None
        return Refusal(message="Incorrect API key provided.", status=401, code="invalid_api_key")

    def _overflow(self, tokens: int) -> Refusal | None:
        limit = self._context_limit
        if limit is None or tokens <= limit:
            return None
        profile = self._profile
        llamacpp = profile.error_shape == "llamacpp"
        return Refusal(
            message=profile.overflow.format(tokens=tokens, limit=limit),
            code=profile.overflow_code,
            kind="exceed_context_size_error" if llamacpp else "invalid_request_error",
            details={"n_prompt_tokens": tokens, "n_ctx": limit} if llamacpp else {},
        )


def read_body(raw: bytes) -> tuple[Json, Refusal | None]:
    """Parse a request's bytes; the refusal says what is wrong with them."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}, Refusal(message=_byte_fault(raw), malformed=True)
    if not isinstance(body, dict):
        return {}, Refusal(message="The request body must be a JSON object.", malformed=True)
    return body, None


def _byte_fault(raw: bytes) -> str:
    try:
        body = json.loads(raw.decode())
    except UnicodeDecodeError:
        return "The request body is not valid UTF-8."
    except json.JSONDecodeError:
        return "We could not parse the JSON body of your request."
    return text_is_unicode(body) or "We could not parse the JSON body of your request."
