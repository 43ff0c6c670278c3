"""graph-agent behind its own server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.adapters.ours import agent_at, sqlite_in
from benchmarks.adapters.serving import Address, served
from benchmarks.contract import Place
from graph_agent.server.app import create_app


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[Address]:
    """Serve an agent whose answers are streamed; the app closes it."""
    agent = agent_at(place, sqlite_in(place), synthesis="always")
    async with served(create_app(agent=agent)) as address:
        yield address
