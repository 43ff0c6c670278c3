"""The chat model for OpenAI-compatible endpoints: langchain-openai's, with its own wire.

What differs from its parent: the request is joined from pieces encoded once, by the rules of the
endpoint, which its refusals change; replies are read strictly and as they are (reasoning kept, cut
calls never repaired); streams report usage; each event loop has its own HTTP client; and nothing
below our own layer tries a failed call again.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import Field, PrivateAttr

from graph_agent.models.known_endpoint import Adapting, KnownEndpoint, endpoint_at
from graph_agent.models.plain_http import client_options
from graph_agent.models.reply import began_thinking, read_reply
from graph_agent.models.stream_assembly import EventStream, StreamAssembly
from graph_agent.models.wire import request_body, shaped

PATH = "/chat/completions"
LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
JSON = {"Content-Type": "application/json"}
STREAM = {"stream": True, "stream_options": {"include_usage": True}}


class CompatibleChatModel(ChatOpenAI):
    """Asks any endpoint that speaks OpenAI's chat completions."""

    stream_idle_timeout: float = 60.0
    """Seconds a stream may be silent."""
    max_retries: int | None = 0
    """Tries after the first; ours stands above, in `RetryPolicy`."""
    wire: dict[str, Any] = Field(default_factory=dict)
    """Flags of `WireRules` that the config file sets."""
    _endpoint: KnownEndpoint | None = PrivateAttr(default=None)
    _clients: dict[asyncio.AbstractEventLoop, openai.AsyncOpenAI] = PrivateAttr(
        default_factory=dict
    )

    @property
    def endpoint(self) -> KnownEndpoint:
        """What is known of the endpoint; all models that ask it share this."""
        if self._endpoint is None:
            base_url = str(self.root_async_client.base_url)
            self._endpoint = endpoint_at(base_url, self.model_name, self.wire)
        return self._endpoint

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        parameters = self._parameters(stop, kwargs)
        reply = await self._post(parameters, messages)
        if isinstance(reply, EventStream):
            message = await self._collected(reply, parameters)
        else:
            message = self._read(reply)
        return ChatResult(generations=[ChatGeneration(message=message)])

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
        stream = await self._post(parameters | STREAM, messages)
        assembly = self._assembly(parameters)
        async with aclosing(stream.pieces(idle_timeout=self.stream_idle_timeout)) as pieces:
            async for piece in pieces:
                yield await _told(assembly.add(piece), run_manager)
        yield await _told(assembly.end(on_purpose=stream.ended), run_manager)

    async def _post(self, parameters: Mapping[str, Any], messages: Sequence[BaseMessage]) -> Any:
        """Ask, and ask again by other rules for as long as a refusal says which.

        Returns:
            The body of the answer, or the stream of its pieces.
        """
        client, adapting = await self._client(), Adapting(self.endpoint, parameters)
        while True:
            if parameters.get("tools"):
                self.endpoint.expect_tools()
            rules = adapting.rules
            asked = shaped({**parameters, **(STREAM if rules.stream_only else {})}, rules)
            content = request_body(asked, messages, rules)
            try:
                return await client.post(
                    PATH,
                    cast_to=object,
                    content=content,
                    options={"headers": JSON},
                    stream=bool(asked.get("stream")),
                    stream_cls=EventStream,
                )
            except openai.APIStatusError as refusal:
                adapting.after(refusal, rules, asked)

    async def _collected(self, stream: EventStream, parameters: Mapping[str, Any]) -> AIMessage:
        assembly = self._assembly(parameters)
        async for piece in stream.pieces(idle_timeout=self.stream_idle_timeout):
            assembly.add(piece)
        assembly.end(on_purpose=stream.ended)
        return assembly.whole()

    def _assembly(self, parameters: Mapping[str, Any]) -> StreamAssembly:
        names = [tool["function"]["name"] for tool in parameters.get("tools") or []]
        return StreamAssembly(names, begins_thinking=self.endpoint.rules.begins_thinking)

    def _read(self, body: object) -> AIMessage:
        """Read a whole reply, and note how it began: a stream must know that beforehand."""
        if began_thinking(body) and not self.endpoint.rules.begins_thinking:
            self.endpoint.rules = replace(self.endpoint.rules, begins_thinking=True)
        return read_reply(body)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        parameters = self._parameters(stop, kwargs)
        adapting = Adapting(self.endpoint, parameters)
        while True:
            if parameters.get("tools"):
                self.endpoint.expect_tools()
            rules = adapting.rules
            asked = shaped(parameters, rules)
            content = request_body(asked, messages, rules)
            try:
                body: Any = self.root_client.post(
                    PATH, cast_to=object, content=content, options={"headers": JSON}
                )
            except openai.APIStatusError as refusal:
                adapting.after(refusal, rules, asked)
            else:
                return ChatResult(generations=[ChatGeneration(message=self._read(body))])

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
                http_client=openai.DefaultAsyncHttpxClient(
                    **client_options(str(self.root_async_client.base_url))
                )
            )
            self._clients[loop] = client
        return client

    def _parameters(self, stop: list[str] | None, call: Mapping[str, Any]) -> dict[str, Any]:
        parameters = _with_one_limit(self._default_params) | _with_one_limit(call)
        parameters.pop("stream", None)
        extra = parameters.pop("extra_body", None) or {}
        return parameters | ({"stop": stop} if stop else {}) | extra


def _with_one_limit(given: Mapping[str, Any]) -> dict[str, Any]:
    """Call the limit of a reply by one name, so that a call's own goes over the model's."""
    return {"max_tokens" if name in LIMIT_NAMES else name: value for name, value in given.items()}


async def _told(
    message: AIMessageChunk, run_manager: AsyncCallbackManagerForLLMRun | None
) -> ChatGenerationChunk:
    """Wrap a piece, and tell who listens."""
    chunk = ChatGenerationChunk(message=message)
    if run_manager:
        await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
    return chunk
