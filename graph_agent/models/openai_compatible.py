"""The chat model for OpenAI-compatible endpoints, with a wire of its own.

What differs from langchain-openai's: the request is joined from pieces encoded once, by the rules
of the endpoint, which its refusals change; replies are read strictly and as they are (reasoning
kept, cut calls never repaired); streams report usage; each event loop has its own HTTP client;
nothing below our own layer tries a failed call again; and OpenAI's client is not imported, which
takes a third of a second and 18 MB.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import PrivateAttr

from graph_agent.bridge import run_sync
from graph_agent.listeners import nobody_listens
from graph_agent.models.compatible_settings import CompatibleSettings
from graph_agent.models.endpoint_error import EndpointError
from graph_agent.models.event_stream import EventStream
from graph_agent.models.known_endpoint import Adapting, KnownEndpoint, endpoint_at
from graph_agent.models.reply import began_thinking, parsed, read_reply
from graph_agent.models.stream_assembly import StreamAssembly
from graph_agent.models.tool_form import Choice, Tool, wire_choice, wire_tools
from graph_agent.models.transport import Transport
from graph_agent.models.wire import request_body, shaped

PATH = "/chat/completions"
LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
STREAM = {"stream": True, "stream_options": {"include_usage": True}}
OURS = ("stream", "extra_body", "ls_structured_output_format")
"""Parameters of a call that are no part of a request: LangChain's, and what is spread out in it."""


class CompatibleChatModel(CompatibleSettings):
    """Asks any endpoint that speaks OpenAI's chat completions."""

    _endpoint: KnownEndpoint | None = PrivateAttr(default=None)
    _transport: Transport | None = PrivateAttr(default=None)

    @property
    def endpoint(self) -> KnownEndpoint:
        """What is known of the endpoint; all models that ask it share this."""
        if self._endpoint is None:
            self._endpoint = endpoint_at(f"{self._root}/", self.model, self.wire)
        return self._endpoint

    def bind_tools(
        self,
        tools: Sequence[Tool],
        *,
        tool_choice: Choice = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer tools with each call.

        Args:
            tools: What the model may call.
            tool_choice: The tool that it must call, or "auto", "none" or "required".
            strict: Whether calls have to follow the tools' schemas to the letter.
            kwargs: Further parameters of each call.
        """
        offered = wire_tools(tools, strict=strict)
        if choice := wire_choice(tool_choice, offered):
            kwargs["tool_choice"] = choice
        return self.bind(tools=offered, **kwargs)

    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Ask for one reply."""
        plain = isinstance(input, list) and all(isinstance(each, BaseMessage) for each in input)
        if plain and self.rate_limiter is None and nobody_listens(config):
            messages = cast("list[BaseMessage]", input)
            return await self._reply(messages, self._parameters(stop, kwargs))
        return await super().ainvoke(input, config, stop=stop, **kwargs)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = await self._reply(messages, self._parameters(stop, kwargs))
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _reply(
        self, messages: Sequence[BaseMessage], parameters: Mapping[str, Any]
    ) -> AIMessage:
        reply = await self._post(parameters, messages)
        if isinstance(reply, EventStream):
            return await self._collected(reply, parameters)
        return self._read(reply)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        parameters = self._parameters(stop, kwargs)
        stream = cast("EventStream", await self._post(parameters | STREAM, messages))
        assembly = self._assembly(parameters)
        async with aclosing(stream.pieces(idle_timeout=self.stream_idle_timeout)) as pieces:
            async for piece in pieces:
                yield await _told(assembly.add(piece), run_manager)
        yield await _told(assembly.end(on_purpose=stream.ended), run_manager)

    async def _post(
        self, parameters: Mapping[str, Any], messages: Sequence[BaseMessage]
    ) -> bytes | EventStream:
        """Ask, and ask again by other rules for as long as a refusal says which.

        Returns:
            The body of the answer, or the stream of its pieces.
        """
        url, adapting = await self._url(), Adapting(self.endpoint, parameters)
        while True:
            if parameters.get("tools"):
                self.endpoint.expect_tools()
            rules = adapting.rules
            asked = shaped({**parameters, **(STREAM if rules.stream_only else {})}, rules)
            content = request_body(asked, messages, rules)
            send = self._sender.stream if asked.get("stream") else self._sender.post
            try:
                return await send(url, content)
            except EndpointError as refusal:
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

    def _read(self, content: bytes) -> AIMessage:
        """Read a whole reply, and note how it began: a stream must know that beforehand."""
        body = parsed(content)
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
        return run_sync(self._agenerate(messages, stop, **kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
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
        """Close the running loop's connections; the next call opens others."""
        if self._transport is not None:
            await self._transport.aclose()

    @property
    def _sender(self) -> Transport:
        if self._transport is None:
            self._transport = Transport(self.headers, timeout=self.timeout)
        return self._transport

    async def _url(self) -> str:
        """Return the address that is asked."""
        return f"{self._root}{PATH}"

    @property
    def _root(self) -> str:
        return self.base_url.rstrip("/")

    def _parameters(self, stop: list[str] | None, call: Mapping[str, Any]) -> dict[str, Any]:
        parameters = _with_one_limit(self.parameters) | _with_one_limit(call)
        extra = parameters.get("extra_body") or {}
        for name in OURS:
            parameters.pop(name, None)
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
