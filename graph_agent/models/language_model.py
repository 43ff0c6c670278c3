"""One model as the engine uses it: a chat model, what it can do, and how long to try."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol, cast, runtime_checkable

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig
from langchain_core.tools import BaseTool

from graph_agent.errors import GraphAgentError, ModelRefusedError
from graph_agent.models.failures import classify
from graph_agent.models.images import without_images
from graph_agent.models.known_endpoint import KnownEndpoint
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.models.prices import Prices
from graph_agent.models.reasoning import pieces_apart, with_reasoning_apart
from graph_agent.models.retry import RetryPolicy
from graph_agent.models.spec import (
    DEFAULT_CONTEXT_SIZE,
    DEFAULT_MAX_OUTPUT_TOKENS,
    Abilities,
    is_small,
)

Pieces = AsyncGenerator[AIMessageChunk, None]
INNER = RunnableConfig(tags=["nostream"])
"""Keeps the tokens of inner calls out of every host's message stream."""


@dataclass(kw_only=True)
class LanguageModel:
    """A chat model with what is known of it; one per process and model, shared by all runs."""

    name: str
    """Its name in the registry."""
    chat: BaseChatModel
    abilities: Abilities
    context_size: int = DEFAULT_CONTEXT_SIZE
    """Tokens of the window."""
    max_output_tokens: int = DEFAULT_MAX_OUTPUT_TOKENS
    """Tokens a reply may take."""
    small: bool = False
    """Has few parameters: asking it to reason first costs more than it gives."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout: float = 300.0
    """Seconds one call may take; of a stream, its first piece."""
    stream_idle_timeout: float = 60.0
    """Seconds between two pieces of a stream."""
    fallbacks: "tuple[LanguageModel, ...]" = ()
    """Models to ask, in order, when this one keeps failing."""
    prices: Prices | None = None
    """What its tokens cost, where that is known."""
    _bound: dict[tuple[int, ...], tuple[tuple[Any, ...], Runnable[Any, AIMessage]]] = field(
        default_factory=dict, repr=False
    )
    """Tools (kept, so that their ids stay theirs) and the model bound to them."""
    _startable: "Startable | None" = field(init=False, repr=False, compare=False)
    _endpoint: KnownEndpoint = field(default_factory=KnownEndpoint, repr=False, compare=False)
    """What is learned about an endpoint that only this object asks."""

    def __post_init__(self) -> None:
        self._startable = self.chat if isinstance(self.chat, Startable) else None
        self.learn()

    @property
    def endpoint(self) -> KnownEndpoint:
        """What is known of the endpoint, learned from its refusals."""
        if isinstance(self.chat, CompatibleChatModel):
            return self.chat.endpoint
        return self._endpoint

    def learn(self) -> None:
        """Take from the abilities what the endpoint refused, whoever asked it."""
        self.abilities = self.abilities.within(self.endpoint.rules)

    @classmethod
    def of(cls, chat: BaseChatModel, *, name: str | None = None, **known: Any) -> "LanguageModel":
        """Wrap any LangChain chat model; its profile says what it can do."""
        profile = chat.profile or {}
        label = name or str(getattr(chat, "model_name", "") or type(chat).__name__)
        defaults: dict[str, Any] = {
            "abilities": Abilities.of(chat),
            "context_size": profile.get("max_input_tokens") or DEFAULT_CONTEXT_SIZE,
            "max_output_tokens": profile.get("max_output_tokens") or DEFAULT_MAX_OUTPUT_TOKENS,
            "small": is_small(label),
        }
        return cls(name=label, chat=chat, **(defaults | known))

    async def ask(
        self,
        messages: Sequence[BaseMessage],
        *,
        tools: Sequence[BaseTool | dict[str, Any]] = (),
        tool_choice: str | None = None,
        **call: Any,
    ) -> AIMessage:
        """Ask for one whole reply, and try again after passing faults.

        Args:
            messages: What is sent, a system message first.
            tools: What the model may call.
            tool_choice: The one tool that it must call.
            call: Further parameters of the request, such as `response_format`.

        Raises:
            ToolsRefusedError: The endpoint takes no tools, now or when it was last asked.
            ModelError: The endpoint kept failing, or refused.
            ConfigError: The model cannot be started as it is set up.
        """
        await self.start()
        if tools:
            self.endpoint.expect_tools()
        chat, call = _unbound(self._with_tools(tools, tool_choice), call)

        async def attempt() -> AIMessage:
            async with asyncio.timeout(self.timeout):
                return await chat.ainvoke(self._readable(messages), INNER, **call)

        try:
            return with_reasoning_apart(await self.retry.call(attempt))
        except ModelRefusedError as refusal:
            if tools:
                self.endpoint.learn_about_tools(refusal)
            raise
        finally:
            self.learn()

    async def stream(
        self, messages: Sequence[BaseMessage], *, since: float | None = None
    ) -> AsyncIterator[AIMessageChunk]:
        """Ask for one reply in pieces; never tried again once a piece went out.

        Args:
            messages: What is sent, a system message first.
            since: When the deadline for further tries began to run, by the clock of `retry`; None
                means now.

        Raises:
            ModelError: The endpoint failed before or amid the reply.
            ConfigError: The model cannot be started as it is set up.
        """
        await self.start()

        async def first() -> tuple[Pieces, AIMessageChunk | None]:
            # What LangChain calls an iterator is a generator, which can be closed.
            stream = cast("Pieces", self.chat.astream(self._readable(messages), INNER))
            pieces = pieces_apart(stream)
            return pieces, await _next(pieces, self.timeout)

        pieces, piece = await self.retry.call(first, since=since)
        # A consumer that stops early closes the connection at once.
        async with aclosing(pieces):
            while piece is not None:
                yield piece
                try:
                    piece = await _next(pieces, self.stream_idle_timeout)
                except GraphAgentError:
                    raise
                except Exception as error:
                    raise classify(error) from error

    async def aclose(self) -> None:
        """Close the running loop's connections, the fallbacks' too; the next call opens others."""
        for model in (self, *self.fallbacks):
            if isinstance(model.chat, Closable):
                await model.chat.aclose()

    async def start(self) -> None:
        """Make ready what a first call would have to wait for, such as an embedded server.

        It may take minutes, so no time-out of a call covers it.
        """
        if self._startable is not None:
            await self._startable.start()

    def _readable(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Leave out what the model cannot read: a thread may hold images from an earlier one."""
        return list(messages) if self.abilities.vision else without_images(messages)

    def _with_tools(
        self, tools: Sequence[BaseTool | dict[str, Any]], tool_choice: str | None
    ) -> Runnable[Any, AIMessage]:
        """Bind tools once per set of tools: their schemas do not change."""
        if not tools:
            return self.chat
        if tool_choice is not None:
            return self.chat.bind_tools(list(tools), tool_choice=tool_choice)
        key = tuple(id(tool) for tool in tools)
        if key not in self._bound:
            self._bound[key] = (tuple(tools), self.chat.bind_tools(list(tools)))
        return self._bound[key][1]


def _unbound(
    chat: Runnable[Any, AIMessage], call: dict[str, Any]
) -> tuple[Runnable[Any, AIMessage], dict[str, Any]]:
    """Look into a binding of our own model: LangChain's way merges configs at every call."""
    if isinstance(chat, RunnableBinding) and isinstance(chat.bound, CompatibleChatModel):
        return chat.bound, {**chat.kwargs, **call}
    return chat, call


async def _next(pieces: Pieces, seconds: float) -> AIMessageChunk | None:
    async with asyncio.timeout(seconds):
        return await anext(pieces, None)


@runtime_checkable
class Closable(Protocol):
    """A chat model that holds connections."""

    async def aclose(self) -> None:
        """Close them; closing twice is closing once."""


@runtime_checkable
class Startable(Protocol):
    """A chat model that has something to start before its first call."""

    async def start(self) -> None:
        """Start it; a second call does nothing."""
