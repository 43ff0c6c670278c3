"""One run per thread: leases that die with their holder."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from graph_agent.errors import ThreadBusyError

TURN_TIMEOUT = 30.0
"""Seconds to wait for others that make a database ready."""


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
            lock = self._lock(hashlib.sha256(thread_id.encode()).hexdigest()[:32])
            try:
                lock.acquire(blocking=False)
            except Timeout:
                raise ThreadBusyError(thread_id) from None
            try:
                yield
            finally:
                lock.release()

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Do the `async with` block while nobody else is inside the one of that name.

        Raises:
            TimeoutError: It took too long until it was our turn.
        """
        lock = self._lock(name)
        await asyncio.to_thread(lock.acquire, TURN_TIMEOUT)
        try:
            yield
        finally:
            lock.release()

    def _lock(self, name: str) -> FileLock:
        self._folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self._folder / f"{name}.lock", thread_local=False)
