"""One run per thread: leases that die with their holder."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from graph_agent.errors import ThreadBusyError

LOOKS = (0.001, 0.003, 0.01, 0.03, 0.0)
"""Seconds after each try to take a lock: whoever just looks at it holds it for less."""
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

    async def held(self, thread_id: str) -> bool:
        """Tell whether anybody holds the thread's lease just now."""
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

    async def held(self, thread_id: str) -> bool:
        """Tell whether anybody in this process holds the thread's lease just now."""
        return thread_id in self._held


class FileLeases:
    """Leases across the processes of one machine: file locks, which the system frees on death."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._in_process = MemoryLeases()

    @asynccontextmanager
    async def hold(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the thread's lease inside the `async with` block."""
        async with self._in_process.hold(thread_id):
            lock = self._thread_lock(thread_id)
            if not await _acquired(lock):
                raise ThreadBusyError(thread_id)
            try:
                yield
            finally:
                lock.release()

    async def held(self, thread_id: str) -> bool:
        """Tell whether anybody holds the thread's lease just now."""
        if await self._in_process.held(thread_id):
            return True
        lock = self._thread_lock(thread_id)
        if not await _acquired(lock):
            return True
        lock.release()
        return False

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

    def _thread_lock(self, thread_id: str) -> FileLock:
        return self._lock(hashlib.sha256(thread_id.encode()).hexdigest()[:32])

    def _lock(self, name: str) -> FileLock:
        # Where others may write to the file, filelock tries the folder out at each lock.
        return FileLock(self._folder / f"{name}.lock", mode=0o644, thread_local=False)


async def _acquired(lock: FileLock) -> bool:
    """Take a lock, also where another process only looks at that moment whether it is held."""
    for pause in LOOKS:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            await asyncio.sleep(pause)
        else:
            return True
    return False
