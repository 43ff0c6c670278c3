"""Clients for the fake endpoint, and a plain question."""

from collections.abc import Iterator
from typing import Any, Protocol

import httpx
import pytest

from graph_agent.testing.endpoint import StrictEndpoint


class Ask(Protocol):
    """Posts a question, with further fields of the body, and reads the whole response."""

    def __call__(self, endpoint: StrictEndpoint, **fields: Any) -> httpx.Response: ...


@pytest.fixture
def question() -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "2 + 2?"}]}


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=10) as client:
        yield client


@pytest.fixture
def ask(client: httpx.Client, question: dict[str, Any]) -> Ask:
    def post(endpoint: StrictEndpoint, **fields: Any) -> httpx.Response:
        return client.post(f"{endpoint.base_url}/chat/completions", json=question | fields)

    return post
