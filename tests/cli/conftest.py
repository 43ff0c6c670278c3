"""The command line in this process, in one of its own, and on a terminal."""

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

from graph_agent.cli.app import app
from graph_agent.testing import StrictEndpoint

PATIENCE = 30.0
"""Seconds to wait for what a terminal has to show."""
PREFIXES = ("GRAPH_AGENT_", "OPENAI_")


@dataclass(frozen=True)
class Cli:
    """Runs `graph-agent` in a clean environment, with a database of the test's own."""

    database: str

    def __call__(
        self,
        *args: str,
        endpoint: StrictEndpoint | None = None,
        stdin: str | None = None,
        **environ: str,
    ) -> Result:
        """Run a command in this process."""
        unset = dict.fromkeys((name for name in os.environ if name.startswith(PREFIXES)), None)
        env = unset | self.settings(endpoint) | environ
        return CliRunner().invoke(app, args, input=stdin, env=env)

    def begin(
        self, *args: str, endpoint: StrictEndpoint | None = None, **options: Any
    ) -> "subprocess.Popen[str]":
        """Begin a command in a process of its own."""
        kept = {n: value for n, value in os.environ.items() if not n.startswith(PREFIXES)}
        command = [sys.executable, "-m", "graph_agent", *args]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        env = kept | self.settings(endpoint) | {"TERM": "xterm-256color", "COLUMNS": "80"}
        return subprocess.Popen(command, env=env, text=True, **(pipes | options))

    def settings(self, endpoint: StrictEndpoint | None) -> dict[str, str]:
        """Return the environment that leads to the endpoint."""
        storage = {"GRAPH_AGENT_DATABASE": self.database, "GRAPH_AGENT_MAX_RETRIES": "0"}
        if endpoint is None:
            return storage
        return storage | {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "key"}


class Terminal:
    """A command on a terminal, as a person uses it."""

    def __init__(self, cli: Cli, *args: str, endpoint: StrictEndpoint, opened: ExitStack) -> None:
        self._keys, screen = pty.openpty()
        opened.callback(os.close, self._keys)
        files = {"stdin": screen, "stdout": screen, "stderr": screen}
        self._process = opened.enter_context(
            cli.begin(*args, endpoint=endpoint, start_new_session=True, **files)
        )
        opened.callback(self._process.kill)
        os.close(screen)
        self.shown = ""
        self._seen = 0

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._keys, keys.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C, and again where nothing happens.

        One that comes as Python is about to wait for a line is noticed behind that line only.
        """
        self._process.send_signal(signal.SIGINT)
        if not select.select([self._keys], [], [], PATIENCE / 4)[0]:
            self._process.send_signal(signal.SIGINT)

    def wait_for(self, text: str) -> None:
        """Read until the text is shown, behind what was waited for before; fail after a while."""
        while (found := self.shown.find(text, self._seen)) < 0:
            assert self._read(), f"{text!r} was never shown, but: {self.shown[self._seen :]!r}"
        self._seen = found + len(text)

    def wait_end(self) -> int:
        """Read to the end and return the exit code."""
        while self._read():
            pass
        return self._process.wait(PATIENCE)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._keys], [], [], PATIENCE)
        try:
            piece = os.read(self._keys, 65536) if ready else b""
        except OSError:  # how Linux says that nobody writes to the terminal any more
            return False
        self.shown += piece.decode(errors="replace")
        return bool(piece)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    return Cli(f"sqlite:///{tmp_path / 'threads.sqlite'}")


@pytest.fixture
def terminal(cli: Cli) -> Iterator[Callable[..., Terminal]]:
    with ExitStack() as opened:

        def begin(*args: str, endpoint: StrictEndpoint) -> Terminal:
            return Terminal(cli, *args, endpoint=endpoint, opened=opened)

        yield begin


@pytest.fixture
def events_in() -> Callable[[str], list[dict[str, Any]]]:
    """Reads a command's `--json`."""
    return lambda output: [orjson.loads(line) for line in output.splitlines()]
