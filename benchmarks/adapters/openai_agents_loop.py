"""openai-agents over chat completions; nothing is saved."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai
from agents import (  # type: ignore[import-not-found]  # It has an environment of its own.
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)

from benchmarks.contract import Place
from benchmarks.task import KEY, MODEL, look

MAX_TURNS = 10_000


class OpenAIAgentsLoop:
    """One agent; each run begins a history anew."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent

    async def run(self, question: str, thread: str) -> str:
        """Run the agent."""
        result = await Runner.run(self._agent, question, max_turns=MAX_TURNS)
        return str(result.final_output)


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[OpenAIAgentsLoop]:
    """Open one client and make one agent."""
    set_tracing_disabled(True)
    async with openai.AsyncOpenAI(base_url=place.endpoint, api_key=KEY, max_retries=0) as client:
        model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)
        yield OpenAIAgentsLoop(Agent(name="agent", model=model, tools=[function_tool(look)]))
