"""The FastAPI app: the API, the page at `/`, and what protects them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from fastapi.staticfiles import StaticFiles

from graph_agent.agent import ReActAgent
from graph_agent.config import Config, load_config
from graph_agent.runs.runs import Runs
from graph_agent.server.bodies import Health
from graph_agent.server.metrics import MEDIA_TYPE, metrics
from graph_agent.server.problems import PROBLEM_RESPONSES, install_problems
from graph_agent.server.protection import SECURITY_HEADERS, HostCheck, SecurityHeaders
from graph_agent.server.routes import router
from graph_agent.server.thread_routes import router as thread_routes

STATIC = Path(__file__).parent / "static"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names under which the server answers, so that no other site can reach it by a name of its own."""


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
        agent: The agent to serve, in place of the configured one; it is closed with the app.
        hosts: Names under which the server answers; `*` means any.

    Raises:
        ConfigError: Something in the configuration is wrong, or there is no model.
    """
    served = agent or (config or load_config()).agent(model)
    runs = Runs(served)
    app = FastAPI(
        title="graph-agent",
        version=version("graph-agent"),
        lifespan=_lifespan,
        openapi_url="/api/openapi.json",
        # FastAPI's pages load scripts from elsewhere, which our policy forbids.
        docs_url=None,
        redoc_url=None,
        responses=PROBLEM_RESPONSES,
    )
    app.state.agent, app.state.runs = served, runs
    app.add_middleware(HostCheck, hosts=hosts)
    app.add_middleware(SecurityHeaders)
    routes = [*router.routes, *thread_routes.routes]
    install_problems(app, routes=routes, headers=SECURITY_HEADERS)
    app.include_router(router)
    app.include_router(thread_routes)

    @app.get("/healthz")
    async def health() -> Health:
        """Say that the server is up."""
        return Health()

    @app.get("/metrics", response_class=PlainTextResponse)
    async def read_metrics() -> PlainTextResponse:
        """Count this process's runs and tokens, for Prometheus."""
        return PlainTextResponse(metrics(runs), media_type=MEDIA_TYPE)

    app.mount("/", StaticFiles(directory=STATIC, html=True), name="page")
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await app.state.runs.aclose()
        await app.state.agent.aclose()
