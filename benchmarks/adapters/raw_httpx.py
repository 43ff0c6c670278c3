"""The least that a loop can be: httpx and dicts; nothing is saved."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from benchmarks.contract import Place
from benchmarks.task import KEY, MODEL, TOOL, look

DATA = "data: "
END = "[DONE]"


class HttpxLoop:
    """Posts the whole history each time."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def run(self, question: str, thread: str) -> str:
        """Ask until no call is left."""
        messages: list[Any] = [{"role": "user", "content": question}]
        while True:
            body = {"model": MODEL, "messages": messages, "tools": [TOOL]}
            answer = await self._client.post("/chat/completions", json=body)
            reply = answer.json()["choices"][0]["message"]
            messages.append(reply)
            if not reply.get("tool_calls"):
                return str(reply["content"])
            for call in reply["tool_calls"]:
                result = look(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    async def deltas(self, question: str, thread: str) -> AsyncIterator[str]:
        """Read the lines of a stream."""
        messages = [{"role": "user", "content": question}]
        body = {"model": MODEL, "messages": messages, "stream": True}
        async with self._client.stream("POST", "/chat/completions", json=body) as answer:
            async for line in answer.aiter_lines():
                data = line.removeprefix(DATA)
                if data and data != END:
                    yield _text(json.loads(data))


def _text(piece: dict[str, Any]) -> str:
    choices = piece["choices"]
    return str(choices[0]["delta"].get("content") or "") if choices else ""


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[HttpxLoop]:
    """Open one client."""
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(base_url=place.endpoint, headers=headers, timeout=600) as client:
        yield HttpxLoop(client)
