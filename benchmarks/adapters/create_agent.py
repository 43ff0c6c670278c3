"""LangChain's `create_agent`, with and without a checkpointer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import SecretStr

from benchmarks.contract import Place
from benchmarks.task import KEY, MODEL, look

RECURSION_LIMIT = 10_000


class CreateAgentLoop:
    """One agent; each thread is a `thread_id`."""

    def __init__(self, place: Place, saver: BaseCheckpointSaver[str] | None = None) -> None:
        model = ChatOpenAI(
            model=MODEL, base_url=place.endpoint, api_key=SecretStr(KEY), max_retries=0
        )
        self._agent: Any = create_agent(model, [look], checkpointer=saver)

    async def run(self, question: str, thread: str) -> str:
        """Invoke the agent."""
        state = await self._agent.ainvoke(_asked(question), _config(thread))
        return str(state["messages"][-1].content)

    async def deltas(self, question: str, thread: str) -> AsyncIterator[str]:
        """Stream the messages' tokens."""
        stream = self._agent.astream(_asked(question), _config(thread), stream_mode="messages")
        async for chunk, _ in stream:
            yield chunk.content

    async def reopen(self, thread: str) -> int:
        """Read the newest checkpoint."""
        snapshot = await self._agent.aget_state(_config(thread))
        return len(snapshot.values["messages"])


def _asked(question: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}]}


def _config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}, "recursion_limit": RECURSION_LIMIT}


@asynccontextmanager
async def unsaved(place: Place) -> AsyncIterator[CreateAgentLoop]:
    """Save nothing."""
    yield CreateAgentLoop(place)


@asynccontextmanager
async def on_sqlite(place: Place) -> AsyncIterator[CreateAgentLoop]:
    """Save every step in SQLite."""
    async with AsyncSqliteSaver.from_conn_string(str(place.folder / "theirs.sqlite")) as saver:
        await saver.setup()
        yield CreateAgentLoop(place, saver)
