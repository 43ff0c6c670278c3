"""Opens something once for each event loop: its connections belong to the loop that made them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class OncePerLoop(Generic[T]):
    """What is opened at the first use, shared by all who use it on the same loop."""

    def __init__(
        self, opening: Callable[[], Coroutine[Any, Any, T]], closing: Callable[[T], Awaitable[None]]
    ) -> None:
        self._opening = opening
        self._closing = closing
        self._opened: dict[asyncio.AbstractEventLoop, asyncio.Task[T]] = {}

    async def get(self) -> T:
        """Return it, opened; a failed opening is tried again at the next use."""
        loop = asyncio.get_running_loop()
        if loop not in self._opened:
            self._opened[loop] = loop.create_task(self._open())
        try:
            # Who gives up waiting does not spoil it for the others.
            return await asyncio.shield(self._opened[loop])
        except Exception:
            self._opened.pop(loop, None)
            raise

    async def close(self) -> None:
        """Close what is open on this loop; `get` opens it anew."""
        opened = self._opened.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            await self._closing(await opened)
        await self._close_forgotten()

    async def _open(self) -> T:
        await self._close_forgotten()
        return await self._opening()

    async def _close_forgotten(self) -> None:
        """Close what was opened on loops that have ended meanwhile."""
        for loop in [loop for loop in self._opened if loop.is_closed()]:
            await self._closing(self._opened.pop(loop).result())
