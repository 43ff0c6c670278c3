"""The tool `search_files`: finds text in the files of one folder, line by line and literally.

There are no regular expressions: a pattern that a model made up could take for ever.
"""

import io
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from langchain_core.tools import BaseTool, ToolException, tool

from graph_agent.tools.builtin.folder import DEFAULT_LIMITS, SHOWN_CHARACTERS, FileLimits, Folder


def search_files_tool(root: Path, limits: FileLimits = DEFAULT_LIMITS) -> BaseTool:
    """Build `search_files` over one folder."""
    folder = Folder(root, limits)

    @tool(parse_docstring=True)
    def search_files(query: str, path: str = ".", glob: str = "**/*") -> str:
        """Find the lines that contain a text in files, and show them as "path:line: text".

        Args:
            query: The text to find, as it stands in one line; case is ignored.
            path: The folder or file to search, relative to the top folder ".".
            glob: Pattern of the paths to search.
        """
        if not query.strip() or len(query.splitlines()) > 1:
            raise ToolException("The query is blank or has several lines. Give words of one line.")
        search = _Search(folder, query)
        search.run(folder.locate(path), glob)
        return search.report()

    return search_files


def file_text(data: bytes) -> str | None:
    """Decode a file, with U+FFFD for what is not UTF-8; None where a NUL byte makes it binary."""
    return None if b"\0" in data else data.decode("utf-8-sig", errors="replace")


def text_lines(text: str) -> list[str]:
    """Split a text into its lines, without their ends."""
    return [line.removesuffix("\n") for line in io.StringIO(text, newline=None)]


class _Search:
    """One search: what it found, what it looked at, and why it stopped."""

    def __init__(self, folder: Folder, query: str) -> None:
        self.folder = folder
        self.query = query
        self.wanted = query.casefold()
        self.limits = folder.limits
        self.found: list[str] = []
        self.searched = 0
        self.skipped = 0
        self.bytes_read = 0
        self.stopped = ""

    def run(self, start: Path, glob: str) -> None:
        for path in self._files(start, glob):
            if self.bytes_read >= self.limits.search_bytes:
                self.stopped = f"{self.bytes_read} bytes"
            if self.stopped:
                break
            self._search_file(path)

    def report(self) -> str:
        notes = []
        if not self.found:
            where = f"{self.searched} searched {'file' if self.searched == 1 else 'files'}"
            notes.append(f"No line contains {self.query[:SHOWN_CHARACTERS]!r} in {where}.")
        if self.skipped:
            notes.append(f"[Skipped as binary, too large or unreadable: {self.skipped}.]")
        if self.stopped:
            notes.append(f"[Stopped early after {self.stopped}. Narrow the query, path or glob.]")
        return "\n".join([*self.found, *notes])

    def _files(self, start: Path, glob: str) -> Iterator[Path]:
        """Walk through a folder in the order of the names, without following links to folders."""
        if not start.is_dir():
            yield start
            return
        pattern = tuple(part for part in glob.split("/") if part not in ("", "."))
        pattern = pattern if "/" in glob else ("**", *pattern)
        waiting = self.folder.children(start)[::-1]
        for _ in range(self.limits.entries):
            if not waiting:
                return
            entry = waiting.pop()
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                waiting += self._children(path)[::-1]
            elif entry.is_file() and glob_matches(path.relative_to(start).parts, pattern):
                yield path
        if waiting:
            self.stopped = f"{self.limits.entries} files and folders"

    def _children(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            return self.folder.children(folder)
        except ToolException:
            self.skipped += 1
            return []

    def _search_file(self, path: Path) -> None:
        try:
            data = self.folder.read(path)
        except ToolException:
            self.skipped += 1
            return
        self.bytes_read += len(data)
        text = file_text(data)
        if text is None:
            self.skipped += 1
            return
        self.searched += 1
        # Most files hold no match, and are done without a look at each line.
        if self.wanted in text.casefold():
            self._search_lines(text_lines(text), self.folder.name(path))

    def _search_lines(self, lines: list[str], name: str) -> None:
        for number, line in enumerate(lines, 1):
            position = line.casefold().find(self.wanted)
            if position < 0:
                continue
            if len(self.found) == self.limits.matches:
                self.stopped = f"{self.limits.matches} matches"
                return
            self.found.append(f"{name}:{number}: {self._cut(line, position)}")

    def _cut(self, line: str, position: int) -> str:
        """Show the part of a line around a match."""
        size = self.limits.match_characters
        start = max(0, min(position - size // 2, len(line) - size))
        end = start + size
        return f"{'…' * (start > 0)}{line[start:end].strip()}{'…' * (end < len(line))}"


def glob_matches(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Match a path, name by name, with a pattern in which `**` stands for any number of names.

    >>> glob_matches(("docs", "old", "a.md"), ("docs", "**", "*.md"))
    True

    Args:
        path: The names on the path.
        pattern: Patterns of names, as `fnmatch` reads them, and `**`.
    """
    reached = {0}
    for part in pattern:
        if part == "**":
            reached = set(range(min(reached), len(path) + 1))
        else:
            reached = {i + 1 for i in reached if i < len(path) and fnmatchcase(path[i], part)}
        if not reached:
            return False
    return len(path) in reached
