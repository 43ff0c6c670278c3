"""The server that the strict endpoint runs on."""

import gc
import socket
from contextlib import suppress

from starlette.applications import Starlette

from graph_agent.testing.loopback import LoopbackServer


def test_what_is_just_being_accepted_is_cut_too() -> None:
    """No client waits for ever; what is left open is a warning, and warnings are errors here."""
    for _ in range(20):
        server = LoopbackServer(Starlette())
        server.start()
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        server.close()
        for client in clients:
            client.settimeout(10)
            with suppress(ConnectionResetError):
                assert client.recv(1) == b""
            client.close()
    gc.collect()
