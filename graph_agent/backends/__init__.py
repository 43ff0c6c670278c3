"""Where threads live: one URL chooses everything that is stored."""

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from graph_agent.backends.backend import Backend, memory_backend
from graph_agent.backends.postgres import open_postgres
from graph_agent.backends.sqlite import open_sqlite
from graph_agent.errors import ConfigError

__all__ = ["MEMORY", "Backend", "given_backend", "memory_backend", "open_backend"]

MEMORY = "memory:"
"""The URL of threads that end with the process."""


def given_backend(
    checkpointer: BaseCheckpointSaver[str] | None, store: BaseStore | None, url: str
) -> Backend | None:
    """Return what is kept in the process or was handed over, whatever the event loop."""
    if checkpointer is None and store is None and url != MEMORY:
        return None
    return memory_backend(checkpointer, store)


async def open_backend(url: str) -> Backend:
    """Open `memory:`, `sqlite:///path` or `postgresql://…`.

    Raises:
        ConfigError: The URL is of no known kind, or what it names cannot be opened.
    """
    if url == MEMORY:
        return memory_backend()
    if url.startswith("sqlite:///"):
        return await open_sqlite(url.removeprefix("sqlite:///"))
    if url.startswith(("postgresql://", "postgres://")):
        return await open_postgres(url)
    # Only the kind is shown: the rest may hold a password.
    kind, colon, _ = url.partition(":")
    raise ConfigError(
        f"There is no database of the kind `{kind if colon else ''}:`. "
        "Use `sqlite:///path`, `postgresql://…` or `memory:`."
    )
