"""Wakes those who wait for something stored to change, whatever event loop they are on."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Changed = Callable[[], Awaitable[None]]
"""Waits until something may have changed since the last call."""


class Bells:
    """One bell for each who waits, rung by the name of what changed."""

    def __init__(self, longest: float) -> None:
        """Make it; who waits is woken after `longest` seconds in any case, to look for itself."""
        self._longest = longest
        self._bells: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._loops: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    @asynccontextmanager
    async def watch(self, name: str) -> AsyncIterator[Changed]:
        """Hear what changes inside the `async with` block, also between two waits."""
        bell = asyncio.Event()
        self._loops[bell] = asyncio.get_running_loop()
        self._bells[name].add(bell)

        async def changed() -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._longest):
                    await bell.wait()
            bell.clear()

        try:
            yield changed
        finally:
            del self._loops[bell]
            self._bells[name].discard(bell)
            if not self._bells[name]:
                del self._bells[name]

    def ring(self, name: str) -> None:
        """Wake all who wait for that name."""
        for bell in [*self._bells.get(name, ())]:
            loop = self._loops[bell]
            if not loop.is_closed():
                loop.call_soon_threadsafe(bell.set)

    def ring_all(self) -> None:
        """Wake all who wait."""
        for name in [*self._bells]:
            self.ring(name)
