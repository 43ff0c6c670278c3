"""Errors as RFC 9457 problem documents."""

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route

from graph_agent.errors import (
    ApprovalNeededError,
    ConfigError,
    GraphAgentError,
    ModelError,
    NotRunningError,
    ThreadBusyError,
    ThreadNotFoundError,
)

STATUS: dict[type[GraphAgentError], HTTPStatus] = {
    ApprovalNeededError: HTTPStatus.CONFLICT,
    NotRunningError: HTTPStatus.CONFLICT,
    ThreadBusyError: HTTPStatus.CONFLICT,
    ThreadNotFoundError: HTTPStatus.NOT_FOUND,
    ConfigError: HTTPStatus.BAD_REQUEST,
    ModelError: HTTPStatus.BAD_GATEWAY,
}
UNEXPECTED = "Something went wrong inside the server; its log says what."


class Problem(BaseModel):
    """What went wrong with a request."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """What happened, then what to do."""
    code: str
    """Short name of the fault, as in an `error` event."""


PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    kind: {
        "description": description,
        "content": {"application/problem+json": {"schema": Problem.model_json_schema()}},
    }
    for kind, description in {
        "4XX": "The request cannot be served.",
        "5XX": "The server or the model's endpoint failed.",
    }.items()
}
"""How every route's errors look, for OpenAPI."""


def problem(
    status: HTTPStatus, detail: str, code: str, *, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Make a problem document."""
    body = Problem(title=status.phrase, status=status.value, detail=detail, code=code)
    return JSONResponse(
        body.model_dump(), status, headers=headers, media_type="application/problem+json"
    )


def status_of(code: str) -> HTTPStatus:
    """Return the status for an error by its short name, as errors and `error` events have it."""
    if code == "cancelled":
        return HTTPStatus.CONFLICT
    kinds = (status for kind, status in STATUS.items() if code in _codes(kind))
    return next(kinds, HTTPStatus.INTERNAL_SERVER_ERROR)


def install_problems(
    app: FastAPI, *, routes: Sequence[BaseRoute], headers: Mapping[str, str]
) -> None:
    """Answer every error of the app with a problem document.

    Args:
        app: The app.
        routes: The API's, from which follows what a method that is not allowed could be.
        headers: What to send with an unexpected error, whose answer passes no middleware.
    """

    @app.exception_handler(GraphAgentError)
    async def ours(_: Request, error: GraphAgentError) -> JSONResponse:
        return problem(status_of(error.code), str(error), error.code)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            return _not_allowed(request, [*app.routes, *routes])
        return problem(HTTPStatus(error.status_code), str(error.detail), "http")

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = "; ".join(
            f"`{'.'.join(str(part) for part in fault['loc'])}`: {fault['msg']}"
            for fault in error.errors()
        )
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, faults, "invalid_request")

    @app.exception_handler(Exception)
    async def unexpected(_: Request, __: Exception) -> JSONResponse:
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        return problem(status, UNEXPECTED, GraphAgentError.code, headers=headers)


def _not_allowed(request: Request, routes: Sequence[BaseRoute]) -> JSONResponse:
    """Name the methods that the address does know; the API's unknown addresses are not found."""
    known = {
        method
        for route in routes
        if isinstance(route, Route) and route.matches(request.scope)[0] is Match.PARTIAL
        for method in route.methods or ()
    }
    allowed = ", ".join(sorted(known))
    if not allowed and request.url.path.startswith(f"{request.scope['root_path']}/api/"):
        return problem(HTTPStatus.NOT_FOUND, "There is no such address.", "http")
    allowed = allowed or "GET, HEAD"
    return problem(
        HTTPStatus.METHOD_NOT_ALLOWED,
        f"{request.method} is not possible here; {allowed} is.",
        "http",
        headers={"Allow": allowed},
    )


def _codes(kind: type[GraphAgentError]) -> Iterator[str]:
    yield kind.code
    for special in kind.__subclasses__():
        yield from _codes(special)
