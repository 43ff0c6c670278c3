"""Serves an app on a free port, in the loop of whoever measures it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette


@dataclass(frozen=True)
class Address:
    """Where the app answers."""

    address: str


@asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[Address]:
    """Serve by uvicorn as it comes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # asyncio sets this for sockets that it makes itself, and connections inherit it.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        yield Address(f"127.0.0.1:{listener.getsockname()[1]}")
        server.should_exit = True
        await serving
