"""The threads that an agent keeps: list them, look into them, fork, rename, delete, export them."""

from typing import Literal

from langgraph.store.base import BaseStore
from langgraph.types import StateSnapshot

from graph_agent.backends import Backend
from graph_agent.bridge import run_sync
from graph_agent.errors import ConfigError, ThreadNotFoundError
from graph_agent.interrupts import InterruptQueue
from graph_agent.per_loop import OncePerLoop
from graph_agent.sync_graph import AgentGraph
from graph_agent.threads.export import as_json, content_of
from graph_agent.threads.export_markdown import as_markdown
from graph_agent.threads.history import CheckpointInfo, checkpoint, checkpoints, copy_state
from graph_agent.threads.listing import ThreadInfo, ThreadList, config_for, copy_title
from graph_agent.threads.listing import new_thread_id as fresh_thread_id

Opened = tuple[Backend, AgentGraph]
"""What one event loop uses."""
Form = Literal["markdown", "json"]


class KeptThreads:
    """What can be done with saved threads without asking a model; `ReActAgent` is one of these."""

    def __init__(self, opened: OncePerLoop[Opened]) -> None:
        self._opened = opened

    async def snapshot(self, thread_id: str) -> StateSnapshot:
        """Return a thread's state.

        Raises:
            ThreadNotFoundError: Nothing is saved of such a thread.
        """
        _, graph = await self._opened.get()
        return await checkpoint(graph, thread_id)

    async def register(self, thread_id: str) -> None:
        """Put a new thread on the list before its first question."""
        await ThreadList(await self.store()).touch(thread_id)

    async def thread(self, thread_id: str) -> ThreadInfo | None:
        """Return a thread's line on the list, if there is such a thread."""
        return await ThreadList(await self.store()).get(thread_id)

    async def backend(self) -> Backend:
        """Return all that is stored for threads: checkpoints, store, events, leases."""
        backend, _ = await self._opened.get()
        return backend

    async def store(self) -> BaseStore:
        """Return where interrupts and the list of threads are kept."""
        return (await self.backend()).store

    async def threads(self, limit: int = 50, offset: int = 0) -> list[ThreadInfo]:
        """List threads, the one used last first."""
        return await ThreadList(await self.store()).newest(limit, offset)

    async def history(self, thread_id: str, limit: int = 50) -> list[CheckpointInfo]:
        """List a thread's newest checkpoints, newest first.

        Args:
            thread_id: The thread.
            limit: How many to read, at least 1; each costs some milliseconds on a long thread.

        Raises:
            ThreadNotFoundError: There is no such thread.
            ConfigError: `limit` is less than 1.
        """
        _, graph = await self._opened.get()
        found = await checkpoints(graph, thread_id, limit)
        if not found:
            await self._expect(thread_id)
        return found

    async def fork(
        self, thread_id: str, checkpoint_id: str | None = None, *, new_thread_id: str | None = None
    ) -> str:
        """Begin a new thread with what another one held; the other is left as it is.

        A call that had no result there gets one that says it was cancelled, so that the new thread
        can be asked on at once.

        Args:
            thread_id: The thread to copy.
            checkpoint_id: Its step to copy, by its id in `history`; None means the newest.
            new_thread_id: What the new thread is called; None makes an id.

        Returns:
            The new thread's id.

        Raises:
            ThreadNotFoundError: Nothing is saved of such a thread.
            ConfigError: It has no such checkpoint, or there is a thread with the new id.
            ThreadBusyError: Somebody writes to a thread with the new id.
        """
        backend, graph = await self._opened.get()
        copied = await checkpoint(graph, thread_id, checkpoint_id)
        new = new_thread_id or fresh_thread_id()
        async with backend.leases.hold(new):
            if await self._exists(new):
                raise ConfigError(f"There is a thread {new} already. Choose another id.")
            await copy_state(graph, copied, new)
            known = await self.thread(thread_id)
            await ThreadList(backend.store).touch(new, copy_title(known.title if known else ""))
        return new

    async def rename(self, thread_id: str, title: str) -> ThreadInfo:
        """Give a thread a title of your own; a run in progress is not disturbed.

        Returns:
            Its line on the list.

        Raises:
            ThreadNotFoundError: There is no such thread.
            ConfigError: The title is empty or too long.
        """
        if await self.thread(thread_id) is None:
            await self._expect(thread_id)
            await self.register(thread_id)
        await ThreadList(await self.store()).rename(thread_id, title)
        renamed = await self.thread(thread_id)
        if renamed is None:  # It was deleted meanwhile.
            raise ThreadNotFoundError(thread_id)
        return renamed

    async def delete(self, thread_id: str) -> None:
        """Delete a thread and everything that is kept of it.

        Raises:
            ThreadNotFoundError: There is no such thread.
            ThreadBusyError: A run is in progress on it: cancel it first.
        """
        backend, _ = await self._opened.get()
        async with backend.leases.hold(thread_id):
            await self._expect(thread_id)
            await backend.checkpointer.adelete_thread(thread_id)
            await backend.events.delete(thread_id)
            queue = InterruptQueue(backend.store, thread_id)
            await queue.acknowledge([item.id for item in await queue.pending()])
            # Last: what breaks off halfway is still listed, and can be deleted again.
            await ThreadList(backend.store).forget(thread_id)

    async def export(self, thread_id: str, form: Form = "markdown") -> str:
        """Write a thread down.

        Args:
            thread_id: The thread.
            form: `markdown` is for people, and shortens what tools got and gave; `json` is
                complete: an object with `title`, `runs` and LangChain's own form of `messages`.

        Raises:
            ThreadNotFoundError: There is no such thread.
            ConfigError: There is no such form.
        """
        if form not in ("markdown", "json"):
            raise ConfigError(f"There is no form `{form}`. Use `markdown` or `json`.")
        _, graph = await self._opened.get()
        content = await content_of(graph, thread_id, await self.thread(thread_id))
        return as_markdown(content) if form == "markdown" else as_json(content)

    def history_sync(self, thread_id: str, limit: int = 50) -> list[CheckpointInfo]:
        """List checkpoints from a script or a notebook cell; see `history`."""
        return run_sync(self.history(thread_id, limit))

    def fork_sync(self, thread_id: str, checkpoint_id: str | None = None) -> str:
        """Fork from a script or a notebook cell; see `fork`."""
        return run_sync(self.fork(thread_id, checkpoint_id))

    def rename_sync(self, thread_id: str, title: str) -> ThreadInfo:
        """Rename from a script or a notebook cell; see `rename`."""
        return run_sync(self.rename(thread_id, title))

    def delete_sync(self, thread_id: str) -> None:
        """Delete from a script or a notebook cell; see `delete`."""
        run_sync(self.delete(thread_id))

    def export_sync(self, thread_id: str, form: Form = "markdown") -> str:
        """Export from a script or a notebook cell; see `export`."""
        return run_sync(self.export(thread_id, form))

    async def _expect(self, thread_id: str) -> None:
        if not await self._exists(thread_id):
            raise ThreadNotFoundError(thread_id)

    async def _exists(self, thread_id: str) -> bool:
        """Tell whether a thread is listed, or anything is saved of it."""
        if await self.thread(thread_id):
            return True
        backend = await self.backend()
        return await backend.checkpointer.aget_tuple(config_for(thread_id)) is not None
