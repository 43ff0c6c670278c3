"""The chat model that needs no server: llama.cpp, started by us at its first call."""

import asyncio
from pathlib import Path
from typing import Any

import openai
from pydantic import PrivateAttr

from graph_agent.models.embedded import serve
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.models.weights import ensure_weights

LOCAL_CONTEXT_SIZE = 8192
"""Tokens; more costs memory and time that a laptop does not have."""
LOCAL_MAX_OUTPUT_TOKENS = 1024
"""Tokens."""


class LocalChatModel(CompatibleChatModel):
    """Serves a GGUF file by itself; without a path, the small model that is pulled once."""

    gguf: Path | None = None
    context_size: int = LOCAL_CONTEXT_SIZE
    _served_at: str | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, gguf: Path | None = None, **settings: Any) -> "LocalChatModel":
        """Describe the model; nothing is loaded yet."""
        return cls(
            model=gguf.stem if gguf else "embedded",
            gguf=gguf,
            # The parent wants both; the address is set once the server listens.
            base_url="http://127.0.0.1/v1",
            api_key="none",
            **{"temperature": 0.0, "max_tokens": LOCAL_MAX_OUTPUT_TOKENS, **settings},
        )

    async def start(self) -> None:
        """Pull the weights if they are missing, load them, and wait until it answers."""
        if self._served_at is None:
            path = self.gguf
            if path is None:
                path = await asyncio.to_thread(ensure_weights)
            self._served_at = await serve(path, context_size=self.context_size)

    async def _client(self) -> openai.AsyncOpenAI:
        await self.start()
        client = await super()._client()
        client.base_url = self._served_at or client.base_url
        return client
