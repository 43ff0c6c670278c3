"""The queue by which people add messages to a run, in LangGraph's store.

Any process or API client that reaches the store can put one in: namespace
`("interrupts", thread_id)`, a key that sorts by time, and `{"content": text}`. A message is queued,
then taken (it is in the run's state), then acknowledged (a saved step holds it) and forgotten.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import uuid4

from langchain_core.messages import BaseMessage
from langgraph.store.base import BaseStore

from graph_agent.errors import ConfigError
from graph_agent.plain_text import plain_text
from graph_agent.state import marked

NAMESPACE = "interrupts"
MOST = 10_000
"""Messages that are read at once. Stores list the newest first: the oldest must not be missed."""


@dataclass(frozen=True)
class Interrupt:
    """One message that a person added."""

    id: str
    content: str


class InterruptQueue:
    """The messages added to one thread: queued, drained into its state, then acknowledged."""

    def __init__(self, store: BaseStore, thread_id: str) -> None:
        self._store = store
        # A dot would be read as a namespace of its own, and refused.
        self._namespace = (NAMESPACE, thread_id.replace(".", "%2E"))

    async def put(self, content: str) -> Interrupt:
        """Queue a message; it stays until it is acknowledged or recalled.

        Raises:
            ConfigError: It is empty.
        """
        content = plain_text(content)
        if not content.strip():
            raise ConfigError("The message is empty. Write what the run should know.")
        interrupt = Interrupt(f"{time.time_ns():020d}-{uuid4().hex[:8]}", content)
        await self._store.aput(self._namespace, interrupt.id, {"content": content}, index=False)
        return interrupt

    async def pending(self) -> list[Interrupt]:
        """List what is queued or taken and not yet acknowledged, oldest first."""
        items = await self._store.asearch(self._namespace, limit=MOST)
        found = [
            Interrupt(item.key, str(item.value.get("content", "")))
            for item in items
            # A search also finds the namespaces below.
            if tuple(item.namespace) == self._namespace
        ]
        return sorted(found, key=lambda interrupt: interrupt.id)

    async def take(self, interrupts: list[Interrupt]) -> list[Interrupt]:
        """Mark messages as taken into a run, so that they cannot be recalled any more.

        They stay until they are acknowledged: only a saved step makes sure that they are kept.

        Returns:
            Those that were not recalled meanwhile.
        """
        taken = []
        for interrupt in interrupts:
            if await self._store.aget(self._namespace, interrupt.id) is not None:
                value = {"content": interrupt.content, "taken": True}
                await self._store.aput(self._namespace, interrupt.id, value, index=False)
                taken.append(interrupt)
        return taken

    async def acknowledge(self, ids: list[str]) -> None:
        """Forget messages that the thread's checkpoint holds; unknown ids do no harm."""
        for interrupt_id in ids:
            await self._store.adelete(self._namespace, interrupt_id)

    async def recall(self, interrupt_id: str) -> bool:
        """Take a message back; False where a run has taken it, or there is none."""
        item = await self._store.aget(self._namespace, interrupt_id)
        if item is None or item.value.get("taken"):
            return False
        await self._store.adelete(self._namespace, interrupt_id)
        return True


def drained_ids(messages: Iterable[BaseMessage]) -> set[str]:
    """Collect the ids of the messages from the queue that are in a thread."""
    return {
        interrupt_id
        for message in messages
        if marked(message) == "interrupt"
        for interrupt_id in message.additional_kwargs["ids"]
    }
