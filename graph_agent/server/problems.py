"""Errors as RFC 9457 problem documents."""

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from graph_agent.errors import (
    ConfigError,
    GraphAgentError,
    ModelError,
    ThreadBusyError,
    ThreadNotFoundError,
)

STATUS: dict[type[GraphAgentError], HTTPStatus] = {
    ThreadBusyError: HTTPStatus.CONFLICT,
    ThreadNotFoundError: HTTPStatus.NOT_FOUND,
    ConfigError: HTTPStatus.BAD_REQUEST,
    ModelError: HTTPStatus.BAD_GATEWAY,
}


def install_problems(app: FastAPI) -> None:
    """Answer every error of the app with a problem document."""

    @app.exception_handler(GraphAgentError)
    async def ours(_: Request, error: GraphAgentError) -> JSONResponse:
        kinds = (status for kind, status in STATUS.items() if isinstance(error, kind))
        return problem(next(kinds, HTTPStatus.INTERNAL_SERVER_ERROR), str(error), error.code)

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        return problem(HTTPStatus(error.status_code), str(error.detail), "http")

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = "; ".join(
            f"`{'.'.join(str(part) for part in fault['loc'])}`: {fault['msg']}"
            for fault in error.errors()
        )
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, faults, "invalid_request")


def problem(status: HTTPStatus, detail: str, code: str) -> JSONResponse:
    """Make a problem document."""
    body = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "code": code,
    }
    return JSONResponse(body, status, media_type="application/problem+json")
