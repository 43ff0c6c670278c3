"""The tools that ship with the package, by the names that the configuration uses."""

from collections.abc import Callable, Mapping
from pathlib import Path

from langchain_core.tools import BaseTool

from graph_agent.tools.builtin.calculator import calculator
from graph_agent.tools.builtin.clock import current_time
from graph_agent.tools.builtin.files import list_files_tool, read_file_tool
from graph_agent.tools.builtin.search import search_files_tool

BUILTIN: Mapping[str, Callable[[Path], BaseTool]] = {
    "calculator": lambda _root: calculator,
    "current_time": lambda _root: current_time,
    "list_files": list_files_tool,
    "read_file": read_file_tool,
    "search_files": search_files_tool,
}
"""Maps a name in `[tools] use` to what builds the tool, given the `root` of the file tools."""
