"""A chat model that replies from a script, for tests and examples without a network."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ConfigDict, Field

Scripted = AIMessage | str | Exception | Callable[[list[BaseMessage]], AIMessage | str]
"""A reply: a message, its text, an error to raise, or a function of what was asked."""


class Asked(BaseModel):
    """One call, as the model got it."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    messages: list[BaseMessage]
    tools: list[str]
    """Names of the tools on offer."""
    streamed: bool
    parameters: dict[str, Any]
    """What else was asked for, such as `response_format`."""


class ScriptedChatModel(BaseChatModel):
    """Replies in the order of the script, and fails on a call too many.

    An exception in the script is raised when its turn comes.

    >>> model = ScriptedChatModel(replies=["four"])
    >>> model.invoke("2 + 2?").text
    'four'
    >>> [asked.messages[0].text for asked in model.asked]
    ['2 + 2?']
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    replies: list[Any]
    """What to reply: each is a `Scripted`."""
    tool_calling: bool = True
    """False makes the agent use JSON mode."""
    asked: list[Asked] = Field(default_factory=list)
    """Every call so far."""

    def model_post_init(self, context: Any, /) -> None:
        """Say what the model can do in the way of all LangChain models: by its profile."""
        super().model_post_init(context)
        if self.profile is None:
            self.profile = {"tool_calling": self.tool_calling, "structured_output": False}

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer tools with each call."""
        offered = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=offered, tool_choice=tool_choice, **kwargs)

    def check(self) -> None:
        """Raise AssertionError unless the whole script was used."""
        assert len(self.asked) == len(self.replies), (
            f"scripted {len(self.replies)} replies, asked {len(self.asked)} times"
        )

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._next(messages, streamed=False, parameters=kwargs)
        return ChatResult(generations=[ChatGeneration(message=reply)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, None, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        reply = self._next(messages, streamed=True, parameters=kwargs)
        for word in reply.text.splitlines(keepends=True):
            yield ChatGenerationChunk(message=AIMessageChunk(content=word, id=reply.id))
        last = AIMessageChunk(
            content="",
            id=reply.id,
            usage_metadata=reply.usage_metadata,
            tool_call_chunks=[
                {**call, "args": str(call["args"]), "index": n, "type": "tool_call_chunk"}
                for n, call in enumerate(reply.tool_calls)
            ],
        )
        yield ChatGenerationChunk(message=last)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, stop, None, **kwargs):
            # Lets others run between two pieces, as a network would.
            await asyncio.sleep(0)
            yield chunk

    def _next(
        self, messages: list[BaseMessage], *, streamed: bool, parameters: dict[str, Any]
    ) -> AIMessage:
        number = len(self.asked)
        assert number < len(self.replies), (
            f"asked {number + 1} times, but scripted only {number} replies; "
            f"the last message was: {messages[-1].text[:200]!r}"
        )
        tools = [tool["function"]["name"] for tool in parameters.pop("tools", [])]
        self.asked.append(
            Asked(messages=messages, tools=tools, streamed=streamed, parameters=parameters)
        )
        reply = self.replies[number]
        if isinstance(reply, Exception):
            raise reply
        if callable(reply):
            reply = reply(messages)
        return AIMessage(reply) if isinstance(reply, str) else reply
