"""A loop over OpenAI's client, with messages as dicts; nothing is saved. This is the yardstick."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import openai

from benchmarks.contract import Place
from benchmarks.task import KEY, MODEL, TOOL, look

TOOLS: list[Any] = [TOOL]
Given = Callable[[list[Any]], dict[str, Any]]
"""How the messages are handed to the client."""


class SdkLoop:
    """Hands the whole history to the client each time."""

    def __init__(self, client: openai.AsyncOpenAI, given: Given) -> None:
        self._client = client
        self._given = given

    async def run(self, question: str, thread: str) -> str:
        """Ask until no call is left."""
        messages: list[Any] = [{"role": "user", "content": question}]
        while True:
            answer = await self._client.chat.completions.create(
                model=MODEL, tools=TOOLS, **self._given(messages)
            )
            reply = answer.choices[0].message.model_dump(exclude_none=True)
            messages.append(reply)
            if not reply.get("tool_calls"):
                return str(reply["content"])
            for call in reply["tool_calls"]:
                result = look(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    async def deltas(self, question: str, thread: str) -> AsyncIterator[str]:
        """Read the client's stream."""
        messages = [{"role": "user", "content": question}]
        async with await self._client.chat.completions.create(
            model=MODEL, stream=True, **self._given(messages)
        ) as stream:
            async for chunk in stream:
                if chunk.choices:
                    yield chunk.choices[0].delta.content or ""


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[SdkLoop]:
    """Pass messages as the documentation says."""
    async with _client(place) as client:
        yield SdkLoop(client, lambda messages: {"messages": messages})


@asynccontextmanager
async def bypassing(place: Place) -> AsyncIterator[SdkLoop]:
    """Pass messages by the client's validation, which walks all of them at each request."""
    async with _client(place) as client:
        yield SdkLoop(client, lambda sent: {"messages": [], "extra_body": {"messages": sent}})


def _client(place: Place) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=place.endpoint, api_key=KEY, max_retries=0)
