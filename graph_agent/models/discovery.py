"""Finds a model server that runs on this machine."""

from collections.abc import Sequence
from dataclasses import dataclass

import httpx

PATIENCE = 0.5
"""Seconds to wait for an answer from this machine."""


@dataclass(frozen=True)
class LocalServer:
    """A kind of server and where it listens unless told otherwise."""

    kind: str
    base_url: str


KNOWN_SERVERS = (
    LocalServer("Ollama", "http://127.0.0.1:11434/v1"),
    LocalServer("llama.cpp", "http://127.0.0.1:8080/v1"),
)


def find_server(servers: Sequence[LocalServer] = KNOWN_SERVERS) -> tuple[LocalServer, str] | None:
    """Return the first server that lists a model, and that model's name.

    Models that only embed texts, as their names say, are passed over.
    """
    with httpx.Client(timeout=PATIENCE, trust_env=False) as client:
        for server in servers:
            model = _first_model(client, server.base_url)
            if model is not None:
                return server, model
    return None


def _first_model(client: httpx.Client, base_url: str) -> str | None:
    try:
        answer = client.get(f"{base_url}/models")
        models = answer.json()["data"] if answer.status_code == httpx.codes.OK else []
        names = [str(model["id"]) for model in models or []]
        return next((name for name in names if "embed" not in name), None)
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        # Whatever listens there is no model server.
        return None
