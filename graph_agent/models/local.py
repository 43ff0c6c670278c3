"""The chat model that needs no server: llama.cpp, started by us at its first call."""

import asyncio
from pathlib import Path
from typing import Any

from pydantic import PrivateAttr

from graph_agent.models.embedded import serve
from graph_agent.models.openai_compatible import PATH, CompatibleChatModel
from graph_agent.models.weights import ensure_weights

LOCAL_CONTEXT_SIZE = 8192
"""Tokens; more costs memory and time that a laptop does not have."""
LOCAL_MAX_OUTPUT_TOKENS = 1024
"""Tokens."""


class LocalChatModel(CompatibleChatModel):
    """Serves a GGUF file by itself; without a path, the small model that is pulled once."""

    gguf: Path | None = None
    context_size: int = LOCAL_CONTEXT_SIZE
    _weights: Path | None = PrivateAttr(default=None)

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
        await self._address()

    async def _address(self) -> str:
        """Return where it listens; a server that died is started again."""
        weights = self.gguf or self._weights
        if weights is None:
            weights = self._weights = await asyncio.to_thread(ensure_weights)
        return await serve(weights, context_size=self.context_size)

    async def _url(self) -> str:
        return f"{await self._address()}{PATH}"
