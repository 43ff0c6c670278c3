"""One folder, read-only: what lies below it can be listed and read, and nothing else can.

Neither listed nor read are: what a path or a link leads to outside the folder; everything that is
no regular file or folder (devices, pipes, sockets); hidden names, which begin with a dot; and names
that look like secrets (`SECRET_NAMES`). A hard link counts as a file of the folder.
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import translate
from itertools import islice
from pathlib import Path, PurePath

from langchain_core.tools import ToolException

from graph_agent.errors import ConfigError

SECRET_NAMES = (
    *("*.env", "*.env.*", "credentials", "credentials.*", "secrets", "secrets.*", "_netrc"),
    *("client_secret*.json", "service-account*.json", "service_account*.json", "*.tfstate"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
)
"""Patterns of names, in lower case, of files and folders that stay closed."""
_SECRET = re.compile("|".join(translate(pattern) for pattern in SECRET_NAMES))
SHOWN_CHARACTERS = 200
"""Length up to which a message repeats a path that the model gave."""
SHOWN_NAMES = 20
"""Names that a message about a missing file lists, at most."""


@dataclass(frozen=True, kw_only=True)
class FileLimits:
    """How much one call may read, and how much it may return."""

    file_bytes: int = 10_000_000
    """Size of a file that can be read."""
    search_bytes: int = 50_000_000
    """Bytes that one search reads, over all files."""
    entries: int = 50_000
    """Files and folders that one search looks at, and that a folder may hold to be listed."""
    listed: int = 500
    """Entries that one listing shows."""
    matches: int = 100
    """Matching lines that one search shows."""
    match_characters: int = 200
    """Characters of a matching line that are shown, around the match."""
    characters: int = 20_000
    """Characters of a file that one call returns."""


DEFAULT_LIMITS = FileLimits()


class Folder:
    """The boundary around `root`. Every error is a `ToolException` that tells the model what to do.

    Raises:
        ConfigError: `root` is no folder.
    """

    def __init__(self, root: Path, limits: FileLimits = DEFAULT_LIMITS) -> None:
        if not root.is_dir():
            raise ConfigError(f"{root} is no folder. Set `root` below [tools] to an existing one.")
        self.root = root.resolve()
        self.limits = limits

    def locate(self, path: str) -> Path:
        """Find the real path of an existing file or folder.

        Args:
            path: Relative to the root, with `/` between the names; `.` is the root.
        """
        if PurePath(path).is_absolute():
            raise ToolException(
                f'{shown(path)} is an absolute path. Give one relative to the top folder ".", '
                "as list_files shows it."
            )
        requested = [name for name in PurePath(path).parts if name != ".."]
        if is_private(requested):
            raise _private(path)
        real = self._follow(self.root / path, shown(path))
        if not _mode(real):
            raise self._missing(path, real)
        return real

    def children(self, folder: Path) -> list[os.DirEntry[str]]:
        """List what is visible in a real folder, sorted by name."""
        try:
            with os.scandir(folder) as scan:
                entries = list(islice(scan, self.limits.entries + 1))
            visible = [entry for entry in entries if self._visible(entry)]
        except OSError as error:
            raise _unreadable(self.name(folder), error) from error
        if len(entries) > self.limits.entries:
            raise ToolException(
                f"{self.name(folder)} holds more than {self.limits.entries} entries, too many to "
                "go through. Name a file or a folder in it."
            )
        return sorted(visible, key=lambda entry: entry.name)

    def read(self, path: Path) -> bytes:
        """Read a whole file of at most `limits.file_bytes` bytes."""
        name = self.name(path)
        real = self._follow(path, name)
        # Neither follows a link that took the file's place nor waits for the writer of a pipe.
        careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            if not stat.S_ISREG(real.lstat().st_mode):
                raise ToolException(f"{name} is not a regular file. Choose another one.")
            descriptor = os.open(real, os.O_RDONLY | careful | getattr(os, "O_BINARY", 0))
            with os.fdopen(descriptor, "rb") as file:
                self._check_open(descriptor, real, name)
                data = file.read(self.limits.file_bytes + 1)
        except OSError as error:
            raise _unreadable(name, error) from error
        if len(data) > self.limits.file_bytes:
            raise self._too_large(name, len(data))
        return data

    def name(self, path: Path) -> str:
        """Write a path below the root as the model sees it: relative, with `/`, escaped."""
        return escaped(path.relative_to(self.root).as_posix())

    def names(self, entries: Iterable[os.DirEntry[str]]) -> list[str]:
        """Write entries as the model sees them; a folder ends in `/`."""
        return [f"{self.name(Path(entry.path))}{'/' * entry.is_dir()}" for entry in entries]

    def _follow(self, path: Path, name: str) -> Path:
        """Resolve every link, and refuse what then lies outside or is private."""
        try:
            real = Path(os.path.realpath(path))
        except (OSError, ValueError) as error:
            raise ToolException(
                f"{name} is no usable path. Use one that list_files shows."
            ) from error
        if not real.is_relative_to(self.root):
            raise ToolException(
                f"{name} is outside the folder that can be read. Use a path that list_files shows."
            )
        if is_private(real.relative_to(self.root).parts):
            raise _private(name)
        return real

    def _visible(self, entry: os.DirEntry[str]) -> bool:
        if is_private([entry.name]):
            return False
        try:
            if entry.is_symlink():
                self._follow(Path(entry.path), entry.name)
            return entry.is_dir() or entry.is_file()
        except (OSError, ToolException):
            return False

    def _check_open(self, descriptor: int, real: Path, name: str) -> None:
        opened = os.fstat(descriptor)
        if not (stat.S_ISREG(opened.st_mode) and is_named_by(descriptor, real)):
            raise ToolException(f"{name} was replaced while it was opened. Try again.")
        if opened.st_size > self.limits.file_bytes:
            raise self._too_large(name, opened.st_size)

    def _too_large(self, name: str, size: int) -> ToolException:
        return ToolException(
            f"{name} has {size} bytes or more, and files of up to {self.limits.file_bytes} bytes "
            "can be read. Choose another file."
        )

    def _missing(self, path: str, real: Path) -> ToolException:
        nearest = next((p for p in real.parents if stat.S_ISDIR(_mode(p))), self.root)
        names = self.names(self.children(nearest))
        close = get_close_matches(path, names, n=SHOWN_NAMES)
        first = list(dict.fromkeys([*close, *names]))[:SHOWN_NAMES]
        rest = " and more" if len(names) > len(first) else ""
        return ToolException(
            f"There is no {shown(path)}. "
            f"In {self.name(nearest)} there is: {', '.join(first) or 'nothing'}{rest}."
        )


def is_named_by(descriptor: int, real: Path) -> bool:
    """Tell whether an open file is the one that a path names, without any link on the way.

    A path is checked before it is opened; in between, a folder on it can become a link.
    """
    return Path(os.path.realpath(real)) == real and os.path.samestat(
        os.fstat(descriptor), real.stat()
    )


def is_private(names: Iterable[str]) -> bool:
    """Tell whether one of the names on a path is hidden or looks like a secret."""
    return any(name.startswith(".") or _SECRET.match(name.lower()) for name in names)


def shown(path: str) -> str:
    """Write what a model gave as a path for a message: escaped, and cut if it is long."""
    return escaped(path if len(path) <= SHOWN_CHARACTERS else f"{path[:SHOWN_CHARACTERS]}…")


def escaped(path: str) -> str:
    r"""Write a path on one line, with line breaks and other control characters escaped.

    >>> print(escaped("a\nb.txt"))
    a\nb.txt
    """
    return "".join(_visible_character(character) for character in path)


def _visible_character(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"):
        return character.encode("unicode_escape").decode()
    return character


def _mode(path: Path) -> int:
    """Tell the type of what a path names, as `stat` does; 0 where there is nothing to be seen."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def _private(path: str) -> ToolException:
    return ToolException(
        f"{shown(path)} is hidden or looks like a secret, and stays closed. Go on without it."
    )


def _unreadable(name: str, error: OSError) -> ToolException:
    return ToolException(f"{name} cannot be read: {error.strerror}. Choose another one.")
