"""The real app, served by uvicorn on a loopback port."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Browser, Page, sync_playwright

from graph_agent import ReActAgent
from graph_agent.runs.runs import Runs
from graph_agent.server.app import create_app

CHROMIUM_OPTIONS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@dataclass(frozen=True)
class Sent:
    """One Server-Sent Event, as a client reads it."""

    id: int
    event: str
    data: Any

    @property
    def wire(self) -> dict[str, Any]:
        """The event without its number."""
        return {"event": self.event, "data": self.data}


def read_frame(frame: str) -> Sent:
    """Read one frame; lines that are no fields would fail here."""
    fields = dict(line.split(": ", 1) for line in frame.split("\n"))
    return Sent(int(fields["id"]), fields["event"], orjson.loads(fields["data"]))


@dataclass
class Web:
    """The served app, and a client that talks to it."""

    app: FastAPI
    client: httpx.AsyncClient
    port: int = 0

    @property
    def runs(self) -> Runs:
        runs: Runs = self.app.state.runs
        return runs

    async def thread(self) -> str:
        """Begin a thread and return its address."""
        created = await self.client.post("/api/threads")
        assert created.status_code == 201
        return f"/api/threads/{created.json()['thread_id']}"

    def read(self, text: str) -> list[Sent]:
        """Read a whole stream, without its comments."""
        assert text.endswith("\n\n")
        frames = text[:-2].split("\n\n")
        return [read_frame(frame) for frame in frames if not frame.startswith(":")]

    async def connect(
        self, method: str, path: str, body: bytes = b"", accept: str = "*/*"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Send a request on a connection of its own, whose answer nobody reads yet."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        return reader, writer

    async def ask(self, thread: str, message: Any = "Hi") -> list[Sent]:
        """Start a run and read its stream to the end."""
        response = await self.client.post(f"{thread}/runs", json={"message": message})
        assert response.status_code == 200, response.text
        return self.read(response.text)

    async def follow(self, thread: str, after: int | None = None) -> list[Sent]:
        """Read the newest run's events again, after an id."""
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        response = await self.client.get(f"{thread}/events", headers=headers)
        assert response.status_code == 200, response.text
        return self.read(response.text) if response.text else []


@pytest.fixture
async def inside() -> AsyncIterator[Callable[..., Awaitable[Web]]]:
    """Call apps without a network, for what does not depend on one."""
    async with AsyncExitStack() as opened:

        async def open_one(agent: ReActAgent, **options: Any) -> Web:
            app = create_app(agent=agent, **options)
            await opened.enter_async_context(app.router.lifespan_context(app))
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
            return Web(app, await opened.enter_async_context(client))

        yield open_one


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[Web]]]:
    """Serve apps over TCP, on this event loop; all is taken down at the end."""
    up: list[tuple[Web, uvicorn.Server, asyncio.Task[None]]] = []

    async def serve_one(agent: ReActAgent, **options: Any) -> Web:
        app = create_app(agent=agent, **options)
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
        port = listener.getsockname()[1]
        client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20)
        web = Web(app, client, port)
        up.append((web, server, asyncio.create_task(server.serve(sockets=[listener]))))
        return web

    yield serve_one
    for web, server, task in up:
        await web.client.aclose()
        server.should_exit = True
        await task


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=CHROMIUM_OPTIONS
        )
        yield browser
        browser.close()


@pytest.fixture
def blank_page(browser: Browser) -> Iterator[Page]:
    """Open an empty page; a test fails on an error of a page's own script."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []
