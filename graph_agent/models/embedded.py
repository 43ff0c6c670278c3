"""Serves a GGUF file to this process by llama.cpp, behind the OpenAI API."""

import asyncio
import atexit
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

from graph_agent.errors import ConfigError

MAGIC = b"GGUF"
"""First bytes of every GGUF file."""
SCRIPT = Path(__file__).with_name("llama_server.py")
REASON = re.compile(r"^[\d.]+ E (.+)$", re.MULTILINE)
"""How llama.cpp writes an error; the first one is the cause of those that follow."""
STOP_PATIENCE = 5.0
"""Seconds that a server gets to leave by itself."""
NOT_INSTALLED = "The embedded model needs `xllamacpp`: pip install 'graph-agent[local]'."


async def serve(path: Path, *, context_size: int = 8192, parallel: int = 1) -> str:
    """Return the base URL of a server for the file, after starting it if none runs.

    There is one server for each file and size in this process. It ends with the process.

    Args:
        path: A GGUF file of a chat model.
        context_size: Tokens that one request may take, prompt and reply together.
        parallel: Requests that are worked on at the same time; each adds the memory of a context.

    Raises:
        ConfigError: `xllamacpp` is missing, or the file can't be read or loaded.
    """
    server = await asyncio.to_thread(
        _servers().get, path, context_size=context_size, parallel=parallel
    )
    return server.base_url


class EmbeddedServer:
    """One llama.cpp in a process of its own.

    It could run in this one, but `xllamacpp` keeps the interpreter's lock while it loads, so that
    everything else stands still for seconds; and a process that ends while a request is open hangs
    in taking the server down, or crashes.
    """

    def __init__(self, path: Path, *, context_size: int, parallel: int) -> None:
        _expect_gguf(path)
        if find_spec("xllamacpp") is None:
            raise ConfigError(NOT_INSTALLED)
        sizes = (context_size, parallel, _threads())
        # -P keeps the names of the script's neighbours out of what it imports.
        command = [sys.executable, "-P", str(SCRIPT), str(path.absolute()), *map(str, sizes)]
        with tempfile.TemporaryFile("w+") as said:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True
            )
            assert self._process.stdout is not None  # it is a pipe
            address = self._process.stdout.readline().strip()
            if not address:
                self.stop()
                said.seek(0)
                raise ConfigError(_not_loaded(path, said.read(), self._process.returncode))
        self.base_url = f"{address}/v1"

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it, also in the middle of a request."""
        try:
            # Closes standard input, which tells it to leave.
            self._process.communicate(timeout=STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


class EmbeddedServers:
    """Those that this process has started."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: dict[tuple[Path, int, int], EmbeddedServer] = {}

    def get(self, path: Path, *, context_size: int, parallel: int = 1) -> EmbeddedServer:
        """Return the server for these, after starting it if it does not run."""
        key = (path.absolute(), context_size, parallel)
        with self._lock:
            server = self._running.get(key)
            if server is None or not server.alive:
                if server is not None:
                    server.stop()
                server = EmbeddedServer(path, context_size=context_size, parallel=parallel)
                self._running[key] = server
            return server

    def stop(self) -> None:
        """End them all."""
        with self._lock:
            while self._running:
                self._running.popitem()[1].stop()


@cache
def _servers() -> EmbeddedServers:
    servers = EmbeddedServers()
    atexit.register(servers.stop)
    return servers


def _threads() -> int:
    """Count the cores that this process may use; llama.cpp is slow beyond measure on fewer."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # a system without the notion


def _expect_gguf(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError as error:
        raise ConfigError(
            f"The model file {path} can't be read: {error.strerror}. Give the path of a GGUF file."
        ) from error
    if start != MAGIC:
        raise ConfigError(f"{path} is no GGUF file: it begins with {start!r}, not {MAGIC!r}.")


def _not_loaded(path: Path, said: str, status: int) -> str:
    reason = REASON.search(said)
    return (
        f"llama.cpp can't load {path}: {reason[1] if reason else f'exit status {status}'}. "
        "Is the file whole, is it of a kind that llama.cpp knows, and is there memory for it?"
    )
