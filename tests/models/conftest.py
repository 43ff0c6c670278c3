"""A chat model before a strict endpoint."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack
from typing import Any

import pytest

from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.testing import StrictEndpoint
from graph_agent.testing.replies import Reply, Responder

Connect = Callable[..., tuple[CompatibleChatModel, StrictEndpoint]]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Set up models, each before an endpoint of its own; all are closed at the end."""
    chats: list[CompatibleChatModel] = []
    with ExitStack() as endpoints:

        def one(
            replies: Iterable[Reply] | Responder,
            endpoint: dict[str, Any] | None = None,
            **settings: Any,
        ) -> tuple[CompatibleChatModel, StrictEndpoint]:
            server = endpoints.enter_context(StrictEndpoint(replies, **endpoint or {}))
            given = {"model": "fake", "base_url": server.base_url, "api_key": "sk-secret"}
            chats.append(CompatibleChatModel(**(given | settings)))
            return chats[-1], server

        yield one
        for chat in chats:
            await chat.aclose()
