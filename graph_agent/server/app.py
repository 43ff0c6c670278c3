"""The FastAPI app: the API, the page at `/`, and what protects them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph_agent.agent import ReActAgent
from graph_agent.config import Config, load_config
from graph_agent.runs import Runs
from graph_agent.server.problems import install_problems
from graph_agent.server.routes import router

STATIC = Path(__file__).parent / "static"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
"""Names under which the server answers, so that no other site can reach it by a name of its own."""
SECURITY_HEADERS = {
    b"content-security-policy": (
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'"
    ),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
}


def create_app(
    config: Config | None = None,
    *,
    model: str | None = None,
    agent: ReActAgent | None = None,
    hosts: tuple[str, ...] = LOOPBACK,
) -> FastAPI:
    """Make the app.

    Args:
        config: What was set up; None reads the config file and the environment.
        model: The model to use, by name.
        agent: The agent to serve, in place of the configured one.
        hosts: Names under which the server answers.

    Raises:
        ConfigError: Something in the configuration is wrong, or there is no model.
    """
    served = agent or (config or load_config()).agent(model)
    runs = Runs(served)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await runs.aclose()
            await served.aclose()

    app = FastAPI(
        title="graph-agent", version=version("graph-agent"), lifespan=lifespan, docs_url="/api/docs"
    )
    app.state.agent, app.state.runs = served, runs
    app.add_middleware(SecurityHeaders)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    install_problems(app)
    app.include_router(router)

    @app.get("/healthz")
    async def health() -> dict[str, str]:
        """Say that the server is up."""
        return {"status": "ok"}

    app.mount("/", StaticFiles(directory=STATIC, html=True), name="page")
    return app


class SecurityHeaders:
    """Adds the headers that keep untrusted text from running in the page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the headers to the response's start."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *SECURITY_HEADERS.items()]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)
