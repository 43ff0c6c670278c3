"""Threads on a PostgreSQL server, shared by several processes."""

from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import Any

from graph_agent.backends.backend import Backend
from graph_agent.backends.leases import MemoryLeases
from graph_agent.errors import ConfigError

POOL_SIZE = 10
"""Connections of one process, at most."""


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
    from psycopg import AsyncConnection  # noqa: PLC0415
    from psycopg.rows import dict_row  # noqa: PLC0415
    from psycopg_pool import AsyncConnectionPool, PoolTimeout  # noqa: PLC0415

    opened = AsyncExitStack()
    pool: AsyncConnectionPool[AsyncConnection[dict[str, Any]]] = AsyncConnectionPool(
        url,
        max_size=POOL_SIZE,
        open=False,
        # A connection that the server closed meanwhile is replaced, not handed out.
        check=AsyncConnectionPool.check_connection,
        kwargs={"autocommit": True, "prepare_threshold": None, "row_factory": dict_row},
    )
    try:
        await pool.open(wait=True, timeout=10)
        opened.push_async_callback(pool.close)
        saver, store = AsyncPostgresSaver(pool), AsyncPostgresStore(pool)
        opened.push_async_callback(store.__aexit__, None, None, None)
        await saver.setup()
        await store.setup()
    except (psycopg.Error, PoolTimeout) as error:
        await pool.close()
        raise ConfigError(
            f"The database server cannot be used: {error}. Check GRAPH_AGENT_DATABASE."
        ) from error
    return Backend(checkpointer=saver, store=store, leases=MemoryLeases(), close=opened.aclose)
