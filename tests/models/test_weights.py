"""The weights are pulled once, checked, and never used while partial or wrong."""

import hashlib
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Barrier

import pytest

from graph_agent.errors import ConfigError, ModelUnavailableError
from graph_agent.models.weight_sources import Report, Weights
from graph_agent.models.weights import ensure_weights

CONTENT = b"GGUF" + bytes(range(256)) * 8
SMALL = Weights(
    file_name="small.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    repository="somebody/small",
    packages=(),
)


def unheard(count: int) -> None:
    """Take a report, and keep quiet: a test shows no bar."""


@dataclass
class FakeSource:
    """Gives what it is told to, in two pieces, and counts how often it was asked."""

    content: bytes = CONTENT
    name: str = "fake"
    fault: Exception | None = None
    """Raised after the first piece."""
    before: Callable[[], object] = lambda: None
    asked: list[Path] = field(default_factory=list)

    def fetch(self, weights: Weights, folder: Path, report: Report) -> Path:
        self.before()
        self.asked.append(folder)
        path = folder / weights.file_name
        half = len(self.content) // 2
        path.write_bytes(self.content[:half])
        report(half)
        if self.fault:
            raise self.fault
        path.write_bytes(self.content)
        report(len(self.content))
        return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_source_gives_is_put_in_place_and_reported(tmp_path: Path) -> None:
    counts: list[int] = []

    path = ensure_weights(
        SMALL, folder=tmp_path / "new", sources=[FakeSource()], progress=counts.append
    )

    assert path == tmp_path / "new" / "small.gguf"
    assert path.read_bytes() == CONTENT
    assert counts == [SMALL.size // 2, SMALL.size]
    assert names(path.parent) == ["small.gguf", "small.gguf.lock", "small.gguf.verified"]


def test_a_bar_is_shown_on_standard_error_unless_progress_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ensure_weights(SMALL, folder=tmp_path, sources=[FakeSource()])

    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Pulling small.gguf" in shown.err


def test_a_second_call_asks_no_source(tmp_path: Path) -> None:
    source = FakeSource()

    first = ensure_weights(SMALL, folder=tmp_path, sources=[source], progress=unheard)
    second = ensure_weights(SMALL, folder=tmp_path, sources=[source], progress=unheard)

    assert first == second
    assert len(source.asked) == 1


def test_a_right_file_that_was_put_there_by_hand_is_taken(tmp_path: Path) -> None:
    source = FakeSource()
    (tmp_path / "small.gguf").write_bytes(CONTENT)

    ensure_weights(SMALL, folder=tmp_path, sources=[source], progress=unheard)

    assert source.asked == []


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(CONTENT[:-1], id="shorter"),
        pytest.param(CONTENT + b"!", id="longer"),
        pytest.param(b"\0" * len(CONTENT), id="same size, other bytes"),
    ],
)
def test_a_file_that_changed_after_it_was_checked_is_pulled_again(
    tmp_path: Path, damage: bytes
) -> None:
    source = FakeSource()
    path = ensure_weights(SMALL, folder=tmp_path, sources=[source], progress=unheard)
    path.write_bytes(damage)

    ensure_weights(SMALL, folder=tmp_path, sources=[source], progress=unheard)

    assert path.read_bytes() == CONTENT
    assert len(source.asked) == 2


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(
            CONTENT[:-1],
            f"it sent a wrong file: {len(CONTENT) - 1:,} bytes instead of {len(CONTENT):,}",
            id="cut off",
        ),
        pytest.param(
            b"\0" * len(CONTENT),
            "it sent a wrong file: SHA-256 "
            f"{hashlib.sha256(bytes(len(CONTENT))).hexdigest()} instead of {SMALL.sha256}",
            id="other bytes",
        ),
    ],
)
def test_a_wrong_file_is_never_put_in_place(tmp_path: Path, content: bytes, fault: str) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        ensure_weights(SMALL, folder=tmp_path, sources=[FakeSource(content)], progress=unheard)

    assert str(caught.value) == (
        f"The weights small.gguf can't be had. fake: {fault}. Set GRAPH_AGENT_MODEL to the path "
        "of a GGUF file that you have, or to another model; or try again when one of these places "
        "can be reached."
    )
    assert names(tmp_path) == ["small.gguf.lock"]


def test_what_a_killed_process_left_behind_is_not_used(tmp_path: Path) -> None:
    staging = tmp_path / "small.gguf.partial"
    staging.mkdir()
    (staging / "small.gguf").write_bytes(CONTENT[:100])
    (staging / "other.whl").write_bytes(b"piece")
    source = FakeSource(before=lambda: left.extend(names(staging)))
    left: list[str] = []

    path = ensure_weights(SMALL, folder=tmp_path, sources=[source], progress=unheard)

    assert left == []
    assert path.read_bytes() == CONTENT
    assert not staging.exists()


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(FakeSource(fault=ModelUnavailableError("no route")), id="fails midway"),
        pytest.param(FakeSource(content=b"GGUF?"), id="gives a wrong file"),
    ],
)
def test_the_next_source_is_asked_where_one(tmp_path: Path, first: FakeSource) -> None:
    second = FakeSource()

    path = ensure_weights(SMALL, folder=tmp_path, sources=[first, second], progress=unheard)

    assert path.read_bytes() == CONTENT
    assert len(second.asked) == 1


def test_where_all_sources_fail_the_error_names_each_reason(tmp_path: Path) -> None:
    sources = [
        FakeSource(name="hub", fault=ModelUnavailableError("no route")),
        FakeSource(name="index", fault=ModelUnavailableError("no such package")),
    ]

    with pytest.raises(ModelUnavailableError, match=r"hub: no route; index: no such package\. Set"):
        ensure_weights(SMALL, folder=tmp_path, sources=sources, progress=unheard)

    assert names(tmp_path) == ["small.gguf.lock"]


def test_a_full_disk_is_told_before_anything_is_pulled(tmp_path: Path) -> None:
    source = FakeSource()
    huge = replace(SMALL, size=shutil.disk_usage(tmp_path).total * 2)

    with pytest.raises(ConfigError, match=r"can't be kept in .* are free\. Make room there"):
        ensure_weights(huge, folder=tmp_path, sources=[source], progress=unheard)

    assert source.asked == []


def test_a_disk_that_fills_up_on_the_way_ends_the_download(tmp_path: Path) -> None:
    source = FakeSource(fault=OSError(28, "No space left on device"))

    with pytest.raises(ConfigError, match="No space left on device"):
        ensure_weights(SMALL, folder=tmp_path, sources=[source], progress=unheard)

    assert names(tmp_path) == ["small.gguf.lock"]


def test_a_folder_that_is_none_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="can't be kept in"):
        ensure_weights(SMALL, folder=tmp_path / "file", sources=[FakeSource()], progress=unheard)


def test_what_progress_raises_ends_the_download(tmp_path: Path) -> None:
    def stop(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure_weights(SMALL, folder=tmp_path, sources=[FakeSource()], progress=stop)

    assert names(tmp_path) == ["small.gguf.lock"]


def test_callers_at_the_same_time_share_one_download(tmp_path: Path) -> None:
    together = Barrier(4)
    source = FakeSource()

    def call(_: int) -> Path:
        together.wait()
        return ensure_weights(SMALL, folder=tmp_path, sources=[source], progress=unheard)

    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(call, range(4)))

    assert paths == [tmp_path / "small.gguf"] * 4
    assert len(source.asked) == 1
