"""`models --prefetch`: the encoding is there, or one line says why it cannot be had."""

import base64
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import toktok
from typer.testing import Result

from graph_agent.context.encoding_file import O200K_BASE

RunCli = Callable[..., Result]
EventsIn = Callable[[str], list[dict[str, Any]]]
NOBODY = "http://127.0.0.1:9"


@pytest.fixture
def encoding_file(tmp_path: Path) -> Path:
    path = O200K_BASE.path({"TIKTOKEN_CACHE_DIR": str(tmp_path)})
    assert path is not None
    tokens = enumerate(toktok._encoding("o200k_base").token_byte_values())
    path.write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % rank for rank, t in tokens))
    return path


def test_a_file_that_is_there_is_not_downloaded(
    cli: RunCli, events_in: EventsIn, encoding_file: Path
) -> None:
    environ = {"TIKTOKEN_CACHE_DIR": str(encoding_file.parent), "HTTPS_PROXY": NOBODY}

    told = cli("models", "--prefetch", **environ)
    data = cli("models", "--prefetch", "--json", **environ)

    assert (told.exit_code, told.stderr) == (0, "")
    assert told.stdout == f"Token counts are exact, by {encoding_file}\n"
    assert (data.exit_code, data.stderr) == (0, "")
    assert events_in(data.stdout) == [
        {"event": "encoding", "data": {"path": str(encoding_file)}},
        {"event": "end", "data": {}},
    ]


@pytest.mark.parametrize(
    ("folder", "code", "told"),
    [
        pytest.param("cache", 4, "o200k_base cannot be had from", id="no network"),
        pytest.param("", 2, "TIKTOKEN_CACHE_DIR is empty", id="cache off"),
        pytest.param("graph-agent.toml/cache", 2, "cannot be kept in", id="no folder"),
    ],
)
def test_one_line_says_why_it_cannot_be_had(
    cli: RunCli, tmp_path: Path, folder: str, code: int, told: str
) -> None:
    (tmp_path / "graph-agent.toml").touch()
    cache = str(tmp_path / folder) if folder else ""

    result = cli("models", "--prefetch", TIKTOKEN_CACHE_DIR=cache, HTTPS_PROXY=NOBODY)

    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith("error: ")
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


def test_help_tells_of_it_without_loading_a_tokenizer(cli: RunCli) -> None:
    code = "import sys, graph_agent.cli; print({'tiktoken', 'httpx'} & sys.modules.keys())"

    shown = cli("models", "--help")
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True)

    assert "--prefetch" in shown.stdout
    assert "TIKTOKEN_CACHE_DIR" in shown.stdout
    assert loaded == "set()\n"
