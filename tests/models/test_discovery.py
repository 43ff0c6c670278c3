from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from graph_agent.models.discovery import KNOWN_SERVERS, LocalServer, find_server
from graph_agent.testing import StrictEndpoint


def gone() -> LocalServer:
    """A server that no longer listens."""
    with StrictEndpoint() as endpoint:
        return LocalServer("gone", endpoint.base_url)


def test_the_first_server_with_a_model_is_found() -> None:
    with StrictEndpoint(models=["one", "two"]) as first, StrictEndpoint(models=["three"]) as second:
        servers = [LocalServer("a", first.base_url), LocalServer("b", second.base_url)]

        assert find_server([gone(), *servers]) == (servers[0], "one")


@pytest.mark.parametrize(
    ("models", "found"),
    [
        pytest.param((), None, id="no model"),
        pytest.param(("nomic-embed-text",), None, id="one that only embeds"),
        pytest.param(("nomic-embed-text", "qwen3:4b"), "qwen3:4b", id="one that chats too"),
    ],
)
def test_a_server_without_a_chat_model_is_passed_over(
    models: Sequence[str], found: str | None
) -> None:
    with StrictEndpoint(models=models) as endpoint:
        server = LocalServer("a", endpoint.base_url)

        assert find_server([server]) == (None if found is None else (server, found))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param(200, b"<html>", id="a page"),
        pytest.param(200, b'{"data": null}', id="null, as an empty Ollama says"),
        pytest.param(200, b"[]", id="a list"),
        pytest.param(200, b'{"data": [{"name": "m"}]}', id="no id"),
        pytest.param(200, b'{"data": ["m"]}', id="no objects"),
        pytest.param(503, b'{"data": [{"id": "m"}]}', id="still loading"),
    ],
)
def test_what_is_no_model_server_is_passed_over(status: int, body: bytes) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Keep the test's output clean."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.handle_request).start()

        assert find_server([LocalServer("a", f"http://127.0.0.1:{server.server_port}/v1")]) is None


def test_nobody_listens() -> None:
    assert find_server([gone()]) is None
    assert find_server([]) is None


def test_where_servers_listen() -> None:
    assert [(server.kind, server.base_url) for server in KNOWN_SERVERS] == [
        ("Ollama", "http://127.0.0.1:11434/v1"),
        ("llama.cpp", "http://127.0.0.1:8080/v1"),
    ]
