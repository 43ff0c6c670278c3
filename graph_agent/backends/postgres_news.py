"""Hears what a PostgreSQL server tells of, on a connection of its own."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection, OperationalError

from graph_agent.backends.bells import Bells, Changed

logger = logging.getLogger(__name__)

CHANNEL = "graph_agent"
CONNECT_TIMEOUT = 10
"""Seconds to wait for the server."""
RECONNECT_INTERVAL = 1.0
"""Seconds before the next try to connect."""
LONGEST_WAIT = 1.0
"""Seconds after which whoever waits looks again, also where no news came: they may be lost."""


class News:
    """Wakes those who wait by the name that the server tells; it connects for the first of them."""

    def __init__(self, url: str, *, longest_wait: float = LONGEST_WAIT) -> None:
        self._url = url
        self._bells = Bells(longest_wait)
        self._listening: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watch(self, name: str) -> AsyncIterator[Changed]:
        """Hear what changes inside the `async with` block."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        async with self._bells.watch(name) as changed:
            yield changed

    async def close(self) -> None:
        """Stop to listen."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])

    async def _listen(self) -> None:
        """Pass the news on, on a new connection wherever one breaks."""
        while True:
            try:
                await self._hear()
            except OperationalError as error:
                logger.warning("news of events are late: %s", error)
            await asyncio.sleep(RECONNECT_INTERVAL)

    async def _hear(self) -> None:
        connection = await AsyncConnection.connect(
            self._url, autocommit=True, connect_timeout=CONNECT_TIMEOUT
        )
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            # What was told before is not told again.
            self._bells.ring_all()
            async for news in connection.notifies():
                self._bells.ring(news.payload)
