"""Serves an ASGI app on a free loopback port, from a thread of its own."""

import asyncio
import socket
import struct
from collections.abc import Callable
from threading import Thread

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

HOST = "127.0.0.1"

KEEP_ALIVE = 3600
"""Seconds; a server that closes idle connections would race with a slow test's next request."""

ACCEPTING = 1.0
"""Seconds that a connection may take to be accepted; the app may have left tasks that go on."""


class LoopbackServer:
    """uvicorn's HTTP on a socket that listens from `start` on, so that nobody needs to wait."""

    def __init__(self, app: ASGIApp) -> None:
        self._config = uvicorn.Config(
            app,
            interface="asgi3",
            proxy_headers=False,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_keep_alive=KEEP_ALIVE,
        )
        self._state = ServerState()
        self._thread: Thread | None = None
        self.port = 0
        """The port, once started."""

    def start(self) -> None:
        """Listen, and serve until `close`."""
        self._config.load()
        # asyncio switches Nagle's algorithm, which costs 40 ms, off only where the type says TCP.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind((HOST, 0))
        self._socket.listen(1024)
        self.port = self._socket.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = Thread(target=self._run, name=f"loopback-{self.port}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Cut every connection and free the port; closing twice is closing once."""
        if self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._thread = None

    def reset(self, client: tuple[str, int]) -> None:
        """Cut one connection without a goodbye, as a crash does; call it on the server's loop."""
        for connection in list(self._state.connections):
            if getattr(connection, "client", None) == client:
                connection.transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                connection.transport.abort()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await self._loop.create_server(self._connection, sock=self._socket)
        await self._stop.wait()
        # What is just being accepted needs the server, and ends by itself.
        self._loop.remove_reader(self._socket)
        await self._cut_connections()
        if accepting := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(accepting, timeout=ACCEPTING)
        await self._cut_connections()
        server.close()

    async def _cut_connections(self) -> None:
        for connection in list(self._state.connections):
            connection.transport.abort()
        for task in list(self._state.tasks):
            task.cancel()
        await asyncio.gather(*self._state.tasks, return_exceptions=True)

    def _connection(self) -> asyncio.Protocol:
        make: Callable[..., asyncio.Protocol] = self._config.http_protocol_class
        return make(config=self._config, server_state=self._state, app_state={})
