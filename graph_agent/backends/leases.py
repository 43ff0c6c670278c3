"""One run per thread: leases that die with their holder."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from graph_agent.errors import ThreadBusyError


class Leases(Protocol):
    """Who may write to a thread."""

    def hold(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Hold the thread's lease inside the `async with` block.

        Raises:
            ThreadBusyError: Somebody else holds it.
        """
        ...


class MemoryLeases:
    """Leases within one process, whatever thread of it asks."""

    def __init__(self) -> None:
        self._held: dict[str, object] = {}

    @asynccontextmanager
    async def hold(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the thread's lease inside the `async with` block."""
        mine = object()
        if self._held.setdefault(thread_id, mine) is not mine:
            raise ThreadBusyError(thread_id)
        try:
            yield
        finally:
            del self._held[thread_id]


class FileLeases:
    """Leases across the processes of one machine: file locks, which the system frees on death."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._in_process = MemoryLeases()

    @asynccontextmanager
    async def hold(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the thread's lease inside the `async with` block."""
        async with self._in_process.hold(thread_id):
            self._folder.mkdir(parents=True, exist_ok=True)
            name = hashlib.sha256(thread_id.encode()).hexdigest()[:32]
            lock = FileLock(self._folder / f"{name}.lock", thread_local=False)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                raise ThreadBusyError(thread_id) from None
            try:
                yield
            finally:
                lock.release()
