"""Threads on a PostgreSQL server, shared by several processes."""

from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from graph_agent.backends.backend import Backend, stop_store
from graph_agent.backends.saved_steps import KnownSteps
from graph_agent.errors import ConfigError

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg_pool import AsyncConnectionPool

POOL_SIZE = 10
"""Connections of one process, at most, beside the one that holds its leases."""
POOL_TIMEOUT = 10.0
"""Seconds to wait for a free connection."""


async def open_postgres(url: str) -> Backend:
    """Connect, and create the tables that are missing.

    Raises:
        ConfigError: The `postgres` extra is missing, or the server cannot be reached.
    """
    if not (find_spec("psycopg") and find_spec("langgraph.checkpoint.postgres")):
        raise ConfigError("PostgreSQL needs an extra: `pip install 'graph-agent[postgres]'`.")
    # Optional: the extra `postgres` brings them.
    import psycopg  # noqa: PLC0415
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: PLC0415
    from langgraph.store.postgres.aio import AsyncPostgresStore  # noqa: PLC0415
    from psycopg_pool import PoolTimeout  # noqa: PLC0415

    from graph_agent.backends.advisory_leases import AdvisoryLeases  # noqa: PLC0415
    from graph_agent.backends.postgres_events import PostgresEvents  # noqa: PLC0415

    class Saver(KnownSteps, AsyncPostgresSaver):
        """Saves, and tells which steps it has saved."""

    async with AsyncExitStack() as opened:
        try:
            leases = AdvisoryLeases(url)
            opened.push_async_callback(leases.close)
            # Two processes may start at once, and both find no tables.
            async with leases.turn("setup"):
                pool = await opened.enter_async_context(_pool(url))
                saver, store = Saver(pool), AsyncPostgresStore(pool)
                opened.push_async_callback(stop_store, store)
                await saver.setup()
                await store.setup()
                events = PostgresEvents(pool, url)
                await events.setup()
                opened.push_async_callback(events.close)
        except (psycopg.Error, PoolTimeout) as error:
            raise ConfigError(
                f"The database server cannot be used: {error}. Check GRAPH_AGENT_DATABASE."
            ) from error
        close = opened.pop_all().aclose
        return Backend(checkpointer=saver, store=store, events=events, leases=leases, close=close)


def _pool(url: str) -> "AsyncConnectionPool[AsyncConnection[dict[str, Any]]]":
    # Optional: the extra `postgres` brings them.
    from psycopg.rows import dict_row  # noqa: PLC0415
    from psycopg_pool import AsyncConnectionPool  # noqa: PLC0415

    return AsyncConnectionPool(
        url,
        max_size=POOL_SIZE,
        timeout=POOL_TIMEOUT,
        open=False,
        # A connection that the server closed meanwhile is replaced, not handed out.
        check=AsyncConnectionPool.check_connection,
        kwargs={"autocommit": True, "prepare_threshold": None, "row_factory": dict_row},
    )
