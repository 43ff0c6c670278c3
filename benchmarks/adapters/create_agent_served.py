"""LangChain's `create_agent` behind the least of a server, by the routes of ours."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from benchmarks.adapters.create_agent import CreateAgentLoop, on_sqlite
from benchmarks.adapters.serving import Address, served
from benchmarks.contract import Place


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[Address]:
    """Serve an agent on SQLite."""
    async with on_sqlite(place) as loop, served(_app(loop)) as address:
        yield address


def _app(loop: CreateAgentLoop) -> Starlette:
    numbers = count()

    async def create_thread(request: Request) -> JSONResponse:
        return JSONResponse({"thread_id": str(next(numbers))})

    async def start_run(request: Request) -> StreamingResponse:
        question = (await request.json())["message"]
        deltas = loop.deltas(question, request.path_params["thread"])
        return StreamingResponse(_frames(deltas), media_type="text/event-stream")

    return Starlette(
        routes=[
            Route("/api/threads", create_thread, methods=["POST"]),
            Route("/api/threads/{thread}/runs", start_run, methods=["POST"]),
        ]
    )


async def _frames(deltas: AsyncIterator[str]) -> AsyncIterator[str]:
    async for text in deltas:
        yield f"data: {json.dumps({'content': text})}\n\n"
