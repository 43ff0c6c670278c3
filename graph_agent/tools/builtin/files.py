"""The tools `list_files` and `read_file`, over one folder that they cannot leave."""

from bisect import bisect_right
from itertools import accumulate
from pathlib import Path

from langchain_core.tools import BaseTool, ToolException, tool

from graph_agent.tools.builtin.folder import DEFAULT_LIMITS, FileLimits, Folder
from graph_agent.tools.builtin.search import file_text, search_files_tool, text_lines


def file_tools(root: Path, limits: FileLimits = DEFAULT_LIMITS) -> list[BaseTool]:
    """Build the three read-only file tools over one folder.

    Args:
        root: The folder. Hidden and secret-like files in it stay closed, see `folder.py`.
        limits: How much one call may read and return.

    Raises:
        ConfigError: `root` is no folder.
    """
    return [
        list_files_tool(root, limits),
        search_files_tool(root, limits),
        read_file_tool(root, limits),
    ]


def list_files_tool(root: Path, limits: FileLimits = DEFAULT_LIMITS) -> BaseTool:
    """Build `list_files` over one folder."""
    folder = Folder(root, limits)

    @tool(parse_docstring=True)
    def list_files(path: str = ".") -> str:
        """List the files and folders in a folder. Names of folders end in "/".

        Args:
            path: The folder, relative to the top folder ".".
        """
        real = folder.locate(path)
        if not real.is_dir():
            raise ToolException(f"{folder.name(real)} is a file. Use read_file to read it.")
        names = folder.names(folder.children(real))
        if not names:
            return f"There are no files in {folder.name(real)}."
        if len(names) <= limits.listed:
            return "\n".join(names)
        note = f"[The first {limits.listed} of {len(names)} entries; search_files finds others.]"
        return "\n".join([*names[: limits.listed], note])

    return list_files


def read_file_tool(root: Path, limits: FileLimits = DEFAULT_LIMITS) -> BaseTool:
    """Build `read_file` over one folder."""
    folder = Folder(root, limits)

    @tool(parse_docstring=True)
    def read_file(path: str, offset: int = 1, limit: int = 500) -> str:
        """Read a text file, or some of its lines.

        Args:
            path: The file, relative to the top folder ".".
            offset: Number of the first line to read; lines count from 1.
            limit: How many lines to read at most.
        """
        real = folder.locate(path)
        name = folder.name(real)
        if real.is_dir():
            raise ToolException(f"{name} is a folder. Use list_files to see what is in it.")
        data = folder.read(real)
        text = file_text(data)
        if text is None:
            return f"{name} is a binary file of {len(data)} bytes; there is no text to read in it."
        lines = text_lines(text)
        if not lines:
            return f"{name} is empty."
        first = max(offset, 1)
        if first > len(lines):
            raise ToolException(
                f"{name} ends at line {len(lines)}. Give an offset from 1 to {len(lines)}."
            )
        return _excerpt(lines, first, max(limit, 1), limits.characters)

    return read_file


def _excerpt(lines: list[str], first: int, count: int, room: int) -> str:
    """Show whole lines from `first` on, as many as fit into `room` characters, and what is left."""
    wanted = lines[first - 1 : first - 1 + count]
    fitting = bisect_right(list(accumulate(len(line) + 1 for line in wanted)), room)
    shown, notes = wanted[:fitting], []
    if not shown:
        shown = [wanted[0][:room]]
        notes.append(f"[Line {first} has {len(wanted[0])} characters; the first {room} are shown.]")
    last = first + len(shown) - 1
    if last < len(lines):
        notes.append(f"[Lines {first} to {last} of {len(lines)}. Go on with offset={last + 1}.]")
    return "\n".join([*shown, *notes])
