"""The chat model for OpenAI-compatible endpoints: langchain-openai's, with its own wire.

What differs from its parent: the request is joined from pieces encoded once, replies are read
strictly and as they are (reasoning kept, cut calls never repaired), streams report usage, each
event loop has its own HTTP client, and nothing below our own layer retries.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

from graph_agent.models.reply import read_chunk, read_reply
from graph_agent.models.wire import request_body

PATH = "/chat/completions"
LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
JSON = {"Content-Type": "application/json"}


class CompatibleChatModel(ChatOpenAI):
    """Asks any endpoint that speaks OpenAI's chat completions."""

    stream_idle_timeout: float = 60.0
    """Seconds a stream may be silent."""
    max_retries: int | None = 0
    """Tries after the first; ours stands above, in `RetryPolicy`."""
    max_tokens_name: str = "max_tokens"
    """What the endpoint calls the limit of a reply; OpenAI itself: `max_completion_tokens`."""
    _clients: dict[asyncio.AbstractEventLoop, openai.AsyncOpenAI] = PrivateAttr(
        default_factory=dict
    )

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        content = request_body(self._parameters(stop, kwargs), messages)
        body: Any = await (await self._client()).post(
            PATH, cast_to=object, content=content, options={"headers": JSON}
        )
        return ChatResult(generations=[ChatGeneration(message=read_reply(body))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        *,
        stream_usage: bool | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        parameters = self._parameters(stop, kwargs)
        parameters |= {"stream": True, "stream_options": {"include_usage": True}}
        stream = await (await self._client()).post(
            PATH,
            cast_to=object,
            content=request_body(parameters, messages),
            options={"headers": JSON},
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
        async with stream:
            pieces = aiter(stream)
            while True:
                async with asyncio.timeout(self.stream_idle_timeout):
                    piece: Any = await anext(pieces, None)
                if piece is None:
                    return
                chunk = ChatGenerationChunk(message=read_chunk(piece))
                if run_manager:
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        content = request_body(self._parameters(stop, kwargs), messages)
        body: Any = self.root_client.post(
            PATH, cast_to=object, content=content, options={"headers": JSON}
        )
        return ChatResult(generations=[ChatGeneration(message=read_reply(body))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        stream_usage: bool | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        result = self._generate(messages, stop, run_manager, **kwargs)
        whole = result.generations[0].message.model_dump(exclude={"type"})
        yield ChatGenerationChunk(message=AIMessageChunk(**whole))

    def _should_stream(self, *, async_api: bool, run_manager: Any = None, **kwargs: Any) -> bool:
        # LangChain turns `ainvoke` into a stream wherever somebody listens to tokens.
        # Loop calls must not stream, so only `astream` and `stream`, which say so, do.
        return bool(kwargs.get("stream", False))

    def _should_use_protocol_streaming(self, **choice: Any) -> bool:
        # The same for LangChain's newer kind of listener.
        return False

    async def aclose(self) -> None:
        """Close the running loop's HTTP client; the next call opens another."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _client(self) -> openai.AsyncOpenAI:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            # A client keeps its loop alive, so those of loops that have ended are dropped.
            for ended in [known for known in self._clients if known.is_closed()]:
                del self._clients[ended]
            client = self.root_async_client.with_options(
                http_client=openai.DefaultAsyncHttpxClient()
            )
            self._clients[loop] = client
        return client

    def _parameters(self, stop: list[str] | None, call: Mapping[str, Any]) -> dict[str, Any]:
        parameters = self._spelt(self._default_params) | self._spelt(call)
        parameters.pop("stream", None)
        extra = parameters.pop("extra_body", None) or {}
        return parameters | ({"stop": stop} if stop else {}) | extra

    def _spelt(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Call the limit of a reply what the endpoint calls it."""
        return {
            self.max_tokens_name if name in LIMIT_NAMES else name: value
            for name, value in given.items()
        }
