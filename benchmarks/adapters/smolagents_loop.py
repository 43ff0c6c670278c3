"""smolagents' agent with tool calls; it is synchronous, so each run takes a thread."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from smolagents import (  # type: ignore[import-not-found]  # It has an environment of its own.
    LogLevel,
    OpenAIServerModel,
    ToolCallingAgent,
    tool,
)

from benchmarks.contract import Place
from benchmarks.task import KEY, MODEL, look

MAX_STEPS = 10_000


class SmolagentsLoop:
    """One model; an agent holds the memory of one run, so each run makes one."""

    def __init__(self, model: Any, tools: list[Any]) -> None:
        self._model = model
        self._tools = tools

    async def run(self, question: str, thread: str) -> str:
        """Run an agent in a thread."""
        agent = ToolCallingAgent(
            self._tools, self._model, max_steps=MAX_STEPS, verbosity_level=LogLevel.OFF
        )
        return str(await asyncio.to_thread(agent.run, question))


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[SmolagentsLoop]:
    """Make one model."""
    model = OpenAIServerModel(
        model_id=MODEL, api_base=place.endpoint, api_key=KEY, client_kwargs={"max_retries": 0}
    )
    yield SmolagentsLoop(model, [tool(look)])
