"""Where threads live: one URL chooses everything that is stored."""

from urllib.parse import urlsplit

from graph_agent.backends.backend import Backend, memory_backend
from graph_agent.backends.postgres import open_postgres
from graph_agent.backends.sqlite import open_sqlite
from graph_agent.errors import ConfigError

__all__ = ["Backend", "memory_backend", "open_backend"]


async def open_backend(url: str) -> Backend:
    """Open `memory:`, `sqlite:///path` or `postgresql://…`.

    Raises:
        ConfigError: The URL is of no known kind, or what it names cannot be opened.
    """
    if url == "memory:":
        return memory_backend()
    if url.startswith("sqlite:///"):
        return await open_sqlite(url.removeprefix("sqlite:///"))
    if url.startswith(("postgresql://", "postgres://")):
        return await open_postgres(url)
    scheme = urlsplit(url).scheme or "no scheme"
    raise ConfigError(
        f"The database URL has {scheme}, which is unknown. "
        "Use `sqlite:///path`, `postgresql://…` or `memory:`."
    )
