"""tiktoken's encoding: exact where its file is on disk, and never a download but by `fetch`."""

import asyncio
import base64
import hashlib
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import toktok
from blockbuster import blockbuster_ctx

from graph_agent.context.encoding_download import fetch
from graph_agent.context.encoding_file import O200K_BASE, EncodingFile
from graph_agent.context.encodings import LazyEncoding, load
from graph_agent.context.tokens import exact_tokens
from graph_agent.errors import ConfigError, ModelUnavailableError

SPECIAL = "GPT uses <|endoftext|> and <|endofprompt|>"
TINY_DATA = b"".join(base64.b64encode(bytes([n])) + b" %d\n" % n for n in range(256))
TINY = EncodingFile(
    name="tiny",
    pattern=r"\s+|\S+",
    url="https://example.org/tiny.tiktoken",
    sha256=hashlib.sha256(TINY_DATA).hexdigest(),
)
"""A token for each byte."""
CHILD = """
import sys
asked = []
leaving = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}
sys.addaudithook(lambda event, args: event in leaving and asked.append(event))
import json, logging
logged = []
class Kept(logging.Handler):
    def emit(self, record):
        logged.append((record.levelname, record.getMessage()))
logging.getLogger("graph_agent").addHandler(Kept())
from graph_agent.context import tokens
begun = tokens.ENCODING._thread.ident
first = tokens.text_tokens("tokenization")
tokens.ENCODING.wait()
counts = [tokens.text_tokens(text) for text in json.load(sys.stdin)]
print(json.dumps({"begun": begun, "counts": counts, "logged": logged, "asked": asked}))
"""


def true_tokens(text: str) -> int:
    count: int = toktok.batch_count([text], "o200k_base", 1)[0]
    return count


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a machine that has the file, made from the test tokenizer's tokens."""
    folder = tmp_path_factory.mktemp("cache")
    tokens = enumerate(toktok._encoding("o200k_base").token_byte_values())
    data = b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in tokens)
    environ = {"TIKTOKEN_CACHE_DIR": str(folder)}
    path = O200K_BASE.path(environ)
    assert path is not None
    path.write_bytes(data)
    return environ


@pytest.fixture(scope="session")
def encoding(cache: dict[str, str]) -> tiktoken.Encoding:
    loaded = load(environ=cache)
    assert loaded is not None
    return loaded


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        pytest.param({"TIKTOKEN_CACHE_DIR": "/a", "DATA_GYM_CACHE_DIR": "/b"}, "/a", id="its own"),
        pytest.param({"DATA_GYM_CACHE_DIR": "/b"}, "/b", id="its older one"),
        pytest.param({"TIKTOKEN_CACHE_DIR": "", "DATA_GYM_CACHE_DIR": "/b"}, None, id="off"),
    ],
)
def test_where_the_file_is(environ: dict[str, str], folder: str | None) -> None:
    path = O200K_BASE.path(environ)

    assert (path and str(path.parent)) == folder


def test_without_a_setting_the_file_is_in_the_folder_for_passing_things(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    path = O200K_BASE.path({})

    assert path is not None
    assert path.parent == tmp_path / "data-gym-cache"


def test_it_is_the_file_and_the_encoding_that_tiktoken_itself_uses(
    cache: dict[str, str], encoding: tiktoken.Encoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing listens there: the file must be found where it is.
    for name, value in (cache | {"HTTPS_PROXY": "http://127.0.0.1:9"}).items():
        monkeypatch.setenv(name, value)

    theirs = tiktoken.get_encoding("o200k_base")

    text = (
        Path(__file__).read_text("utf-8") + "서울의 날씨 don't I'LL 12345 😀\u00a0\n\n  é" + SPECIAL
    )
    assert encoding.encode_ordinary(text) == theirs.encode_ordinary(text)
    assert encoding.name == theirs.name


@pytest.mark.parametrize("text", ["", "half \ud83d", SPECIAL, "<|endoftext|>" * 10_000, "가" * 9])
def test_special_tokens_and_half_characters_are_just_text(
    encoding: tiktoken.Encoding, text: str
) -> None:
    plain = text.encode("utf-8", "replace").decode() if not text.isascii() else text

    assert abs(exact_tokens(text, encoding) - true_tokens(plain)) <= len(text) // 10_000 + 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a" * 1_000_000, id="one letter"),
        pytest.param(" " * 1_000_000, id="spaces"),
        pytest.param("\n" * 1_000_000, id="line breaks"),
        pytest.param("서울" * 500_000, id="Korean"),
        pytest.param("=-" * 500_000, id="marks"),
    ],
)
def test_a_megabyte_without_a_break_is_counted(encoding: tiktoken.Encoding, text: str) -> None:
    exact = exact_tokens(text, encoding)

    assert true_tokens(text) <= exact <= 1.02 * true_tokens(text)


@pytest.mark.parametrize(
    ("content", "environ", "told"),
    [
        pytest.param(None, {}, "No such file or directory", id="missing"),
        pytest.param(b"half a file", {}, "is not the file of tiny", id="damaged"),
        pytest.param(TINY_DATA, {"TIKTOKEN_CACHE_DIR": ""}, "is switched off", id="cache off"),
    ],
)
def test_without_the_file_there_is_a_warning_and_no_encoding(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    content: bytes | None,
    environ: dict[str, str],
    told: str,
) -> None:
    folder = {"TIKTOKEN_CACHE_DIR": str(tmp_path)}
    path = TINY.path(folder)
    assert path is not None
    if content is not None:
        path.write_bytes(content)

    assert load(TINY, folder | environ) is None

    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert told in record.getMessage()
    assert "`graph-agent models --prefetch`" in record.getMessage()
    assert path.exists() == (content is not None)


def test_it_is_loaded_once_in_a_thread_of_its_own(encoding: tiktoken.Encoding) -> None:
    may_end, threads = threading.Event(), []

    def loading() -> tiktoken.Encoding:
        threads.append(threading.current_thread().name)
        may_end.wait()
        return encoding

    lazy = LazyEncoding(loading)
    with ThreadPoolExecutor(8) as pool:
        meanwhile = list(pool.map(lambda _: lazy.now(), range(80)))
    may_end.set()

    assert meanwhile == [None] * 80
    assert lazy.wait() is encoding is lazy.now()
    assert threads == ["token-encoding"]


def test_what_could_not_be_loaded_is_not_tried_again() -> None:
    tries: list[int] = []
    lazy = LazyEncoding(lambda: tries.append(1))

    assert [lazy.wait(), lazy.now(), lazy.wait()] == [None] * 3
    assert tries == [1]


@pytest.mark.anyio
async def test_the_event_loop_never_waits_for_the_file(cache: dict[str, str]) -> None:
    lazy = LazyEncoding(lambda: load(environ=cache))

    with blockbuster_ctx():
        first = lazy.now()
    loaded = await asyncio.to_thread(lazy.wait)

    assert first is None
    assert loaded is not None


def count_in_child(environ: Mapping[str, str], texts: list[str]) -> Any:
    told = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(texts),
        env=dict(environ),
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stderr == ""
    return json.loads(told.stdout)


def test_a_process_with_the_file_counts_exactly(cache: dict[str, str]) -> None:
    texts = ["tokenization", SPECIAL, "3.5% of 서울", "x" * 200_001]

    told = count_in_child(cache, texts)

    exact = [true_tokens(text) for text in texts]
    assert told["counts"][:-1] == exact[:-1]
    assert exact[-1] < told["counts"][-1] < 1.1 * exact[-1]
    assert (told["begun"], told["logged"], told["asked"]) == (None, [], [])


def test_a_process_without_it_estimates_and_warns_once(tmp_path: Path) -> None:
    texts = ["tokenization", SPECIAL]

    told = count_in_child({"TIKTOKEN_CACHE_DIR": str(tmp_path)}, texts)

    least = [0.9 * true_tokens(text) for text in texts]
    assert [count for count, low in zip(told["counts"], least, strict=True) if count < low] == []
    assert [level for level, _ in told["logged"]] == ["WARNING"]
    assert (told["begun"], told["asked"]) == (None, [])


@dataclass
class Site:
    """A web site with one file."""

    url: str
    answers: list[tuple[int, bytes]] = field(default_factory=list)
    """Status and body of each answer to come."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as served:
        yield served


@contextmanager
def serving() -> Iterator[Site]:
    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = served.answers.pop(0)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        served = Site(f"http://127.0.0.1:{server.server_port}/tiny.tiktoken")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield served
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("there", [None, b"half a file"], ids=["nothing", "damaged"])
def test_fetch_brings_the_file_once(tmp_path: Path, site: Site, there: bytes | None) -> None:
    file, environ = replace(TINY, url=site.url), {"TIKTOKEN_CACHE_DIR": str(tmp_path / "new")}
    path = file.path(environ)
    assert path is not None
    if there is not None:
        path.parent.mkdir()
        path.write_bytes(there)
    site.answers.append((200, TINY_DATA))

    assert [fetch(file, environ), fetch(file, environ)] == [path, path]

    loaded = load(file, environ)
    assert loaded is not None
    assert exact_tokens("as bytes", loaded) == 8
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param((200, b"<html>Log in</html>"), "another file", id="another file"),
        pytest.param((404, b"Gone."), "404 Not Found", id="404"),
    ],
)
def test_fetch_says_why_it_brought_nothing(
    tmp_path: Path, site: Site, answer: tuple[int, bytes], told: str
) -> None:
    file = replace(TINY, url=site.url)
    site.answers.append(answer)

    with pytest.raises(ModelUnavailableError, match=told):
        fetch(file, {"TIKTOKEN_CACHE_DIR": str(tmp_path)})

    assert list(tmp_path.iterdir()) == []


def test_fetch_says_that_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    file = replace(TINY, url="http://127.0.0.1:9/tiny.tiktoken")

    with pytest.raises(ModelUnavailableError, match=r"had from http://127\.0\.0\.1:9"):
        fetch(file, {"TIKTOKEN_CACHE_DIR": str(tmp_path)})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HTTPS_PROXY", "no address"),
        ("HTTPS_PROXY", "socks5://127.0.0.1:9"),
        ("SSL_CERT_FILE", "x"),
    ],
)
def test_fetch_says_what_is_wrong_with_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    for name in ("https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv(variable, value)

    with pytest.raises(ModelUnavailableError, match="cannot be had"):
        fetch(TINY, {"TIKTOKEN_CACHE_DIR": str(tmp_path)})


@pytest.mark.parametrize("folder", ["", "a file"], ids=["cache off", "no folder"])
def test_fetch_needs_a_folder(tmp_path: Path, site: Site, folder: str) -> None:
    (tmp_path / "a file").touch()
    environ = {"TIKTOKEN_CACHE_DIR": str(tmp_path / folder) if folder else ""}

    with pytest.raises(ConfigError, match="TIKTOKEN_CACHE_DIR"):
        fetch(replace(TINY, url=site.url), environ)
