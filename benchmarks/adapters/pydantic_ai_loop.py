"""pydantic-ai over OpenAI's client; nothing is saved."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai
from pydantic_ai import (  # type: ignore[import-not-found]  # It has an environment of its own.
    Agent,
    UsageLimits,
)
from pydantic_ai.models.openai import (  # type: ignore[import-not-found]  # The same.
    OpenAIChatModel,
)
from pydantic_ai.providers.openai import (  # type: ignore[import-not-found]  # The same.
    OpenAIProvider,
)

from benchmarks.contract import Place
from benchmarks.task import KEY, MODEL, look


class PydanticAILoop:
    """One agent; each run begins a history anew."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent

    async def run(self, question: str, thread: str) -> str:
        """Run the agent."""
        result = await self._agent.run(question, usage_limits=UsageLimits(request_limit=None))
        return str(result.output)


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[PydanticAILoop]:
    """Open one client and make one agent."""
    async with openai.AsyncOpenAI(base_url=place.endpoint, api_key=KEY, max_retries=0) as client:
        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client))
        yield PydanticAILoop(Agent(model, tools=[look]))
