"""graph-agent in both modes and on each database: all nodes on, all events read."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from benchmarks.contract import Place
from benchmarks.task import MODEL, look
from graph_agent import ModelRegistry, ReActAgent, RunOptions
from graph_agent.models.spec import ModelSpec

STREAMED = RunOptions(synthesis="always")


class OurLoop:
    """One agent; its events are read to the end."""

    def __init__(self, agent: ReActAgent) -> None:
        self.agent = agent

    async def run(self, question: str, thread: str) -> str:
        """Stream the events of a run."""
        answer = ""
        async for event in self.agent.stream(question, thread_id=thread):
            if event["event"] == "done":
                answer = event["data"]["answer"]
        return answer

    async def deltas(self, question: str, thread: str) -> AsyncIterator[str]:
        """Stream the pieces of an answer that a second call writes."""
        async for event in self.agent.stream(question, thread_id=thread, options=STREAMED):
            if event["event"] == "answer" and event["data"]["status"] == "delta":
                yield event["data"]["content"]

    async def reopen(self, thread: str) -> int:
        """Read the thread's state."""
        snapshot = await self.agent.snapshot(thread)
        return len(snapshot.values["messages"])


class UnheardLoop(OurLoop):
    """One agent; nobody listens to its events."""

    async def run(self, question: str, thread: str) -> str:
        """Wait for the answer."""
        return (await self.agent.run(question, thread_id=thread)).answer


def agent_at(place: Place, database: str, **settings: Any) -> ReActAgent:
    """Make an agent that sends the same requests as the other loops."""
    models = ModelRegistry({MODEL: ModelSpec(model=MODEL, base_url=place.endpoint)})
    chosen: dict[str, Any] = {
        "synthesis": "never",  # The others make no call for it,
        "completion_check_min_tools": 0,  # nor for this.
        "max_iterations": 1_000,
        "context_size": 1_000_000,
    }
    return ReActAgent(MODEL, [look], models=models, database=database, **chosen | settings)


@asynccontextmanager
async def _opened(agent: ReActAgent) -> AsyncIterator[OurLoop]:
    async with agent:
        await agent.backend()
        yield OurLoop(agent)


def in_memory(place: Place) -> AbstractAsyncContextManager[OurLoop]:
    """Keep every step in memory."""
    return _opened(agent_at(place, "memory:"))


def in_memory_json(place: Place) -> AbstractAsyncContextManager[OurLoop]:
    """Keep every step in memory, in JSON mode."""
    return _opened(agent_at(place, "memory:", use_native_tools=False))


def on_sqlite(place: Place) -> AbstractAsyncContextManager[OurLoop]:
    """Save every step in SQLite."""
    return _opened(agent_at(place, sqlite_in(place)))


def on_sqlite_json(place: Place) -> AbstractAsyncContextManager[OurLoop]:
    """Save every step in SQLite, in JSON mode."""
    return _opened(agent_at(place, sqlite_in(place), use_native_tools=False))


def on_postgres(place: Place) -> AbstractAsyncContextManager[OurLoop]:
    """Save every step in Postgres."""
    return _opened(agent_at(place, _postgres(place)))


def on_postgres_json(place: Place) -> AbstractAsyncContextManager[OurLoop]:
    """Save every step in Postgres, in JSON mode."""
    return _opened(agent_at(place, _postgres(place), use_native_tools=False))


@asynccontextmanager
async def on_sqlite_unheard(place: Place) -> AsyncIterator[UnheardLoop]:
    """Save every step in SQLite, and read no events."""
    async with agent_at(place, sqlite_in(place)) as agent:
        await agent.backend()
        yield UnheardLoop(agent)


def sqlite_in(place: Place) -> str:
    """Name the database file."""
    return f"sqlite:///{place.folder}/ours.sqlite"


def _postgres(place: Place) -> str:
    if place.postgres is None:
        raise ValueError("There is no Postgres database: give its URL with --postgres.")
    return place.postgres
