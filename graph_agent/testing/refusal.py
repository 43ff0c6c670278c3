"""A request that a server refuses, and the error body in which each kind of server says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import orjson

from graph_agent.testing.replies import Json

ErrorShape: TypeAlias = Literal["openai", "llamacpp", "vllm", "mistral", "bedrock"]
"""Whose error body: the field names and types differ between servers."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why a request is refused."""

    message: str
    """The server's own words, as far as they are known."""
    status: int = 400
    code: str | None = None
    """Machine-readable reason, where the server gives one."""
    malformed: bool = False
    """True: the client broke the protocol, which is always its fault. False: it asked for
    something that this server cannot do, and could not know beforehand."""
    kind: str = "invalid_request_error"
    """The body's `type`."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the body's error object."""


def error_body(refusal: Refusal, shape: ErrorShape) -> bytes:
    """Spell a refusal as the given kind of server does."""
    return orjson.dumps(_SHAPES[shape](refusal))


def _openai(refusal: Refusal) -> Json:
    error = {
        "message": refusal.message,
        "type": refusal.kind,
        "param": None,
        "code": refusal.code,
        **refusal.details,
    }
    return {"error": error}


def _llamacpp(refusal: Refusal) -> Json:
    kind = "server_error" if refusal.status >= 500 else refusal.kind
    error = {"code": refusal.status, "message": refusal.message, "type": kind, **refusal.details}
    return {"error": error}


def _vllm(refusal: Refusal) -> Json:
    kind = "InternalServerError" if refusal.status >= 500 else "BadRequestError"
    error = {"message": refusal.message, "type": kind, "param": None, "code": refusal.status}
    return {"error": error}


def _mistral(refusal: Refusal) -> Json:
    return {
        "object": "error",
        "message": refusal.message,
        "type": refusal.kind,
        "param": None,
        "code": refusal.code,
    }


def _bedrock(refusal: Refusal) -> Json:
    return {"message": refusal.message, "code": refusal.code or "ValidationException"}


_SHAPES = {
    "openai": _openai,
    "llamacpp": _llamacpp,
    "vllm": _vllm,
    "mistral": _mistral,
    "bedrock": _bedrock,
}
