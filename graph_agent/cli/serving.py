"""Serves the web page and the API, once the model is ready."""

import asyncio
import socket
from ipaddress import ip_address

import typer
import uvicorn
from fastapi import FastAPI

from graph_agent.agent import ReActAgent
from graph_agent.cli.exit_codes import ExitCode
from graph_agent.cli.safe_text import one_line
from graph_agent.config import Config
from graph_agent.errors import ConfigError
from graph_agent.runs.runs import Runs
from graph_agent.server.app import LOOPBACK, create_app

PATIENCE = 3
"""Seconds that open connections get to end once the server is stopped."""


class AgentServer(uvicorn.Server):
    """Prints a line as soon as it answers, and ends the runs before the connections."""

    def __init__(self, config: uvicorn.Config, *, line: str, runs: Runs) -> None:
        super().__init__(config)
        self._line = line
        self._runs = runs

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer, then say so."""
        await super().startup(sockets)
        if self.started:
            typer.echo(self._line)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Cancel the runs, so that whoever follows one learns how it ended; then stop."""
        await self._runs.aclose()
        await super().shutdown(sockets)


def serve(config: Config, model: str | None, host: str, port: int, *, open_to_all: bool) -> int:
    """Serve until a signal says stop.

    Args:
        config: What was set up.
        model: The model to use, by name.
        host: The address to listen on.
        port: 0 takes any free one.
        open_to_all: Whether another address than this machine's own is allowed.

    Raises:
        ConfigError: The address is refused or taken, or something is set up wrong.
        ModelError: The model cannot be started.
    """
    loopback = _is_loopback(host)
    if not (loopback or open_to_all):
        raise ConfigError(
            f"{host} can be reached from other machines, and anyone there could use the agent. "
            "Add --no-auth if that is meant."
        )
    with _listening(host, port) as listener:
        app = create_app(config, model=model, hosts=(*LOOPBACK, host) if loopback else ("*",))
        return asyncio.run(_serve(app, listener, host))


async def _serve(app: FastAPI, listener: socket.socket, host: str) -> int:
    agent: ReActAgent = app.state.agent
    await agent.model.start()
    address = f"[{host}]" if ":" in host else host
    url = f"http://{address}:{listener.getsockname()[1]}"
    line = f"graph-agent is running at {url} (model: {one_line(agent.model.name)})"
    settings = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=PATIENCE)
    server = AgentServer(settings, line=line, runs=app.state.runs)
    await server.serve(sockets=[listener])
    return ExitCode.OK if server.started else ExitCode.INTERNAL


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(
            f"The server cannot listen on {host}, port {port}: {reason}. Choose another --port."
        ) from error
    # asyncio does not do it for sockets that are made like this, and then a token may wait for 30
    # ms; connections inherit it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
