"""The tools an agent has, in a fixed order, by name."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import Parameter, iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import ToolNode

from graph_agent.errors import ConfigError
from graph_agent.tools.adapted import adapted
from graph_agent.tools.direct import DirectCall, direct_call

if TYPE_CHECKING:
    from graph_agent.tools.arguments import ArgumentSchema

NAME_LENGTH = 64
"""Characters that endpoints take as a tool's name, at most."""
NAME_PIECE = re.compile(r"[a-zA-Z0-9_-]+")
"""The characters that they take."""

Tool = BaseTool | Callable[..., Any]


class ToolRegistry:
    """Keeps tools in the order they came in, so that the prompt's prefix stays the same."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, BaseTool] = {}
        self._alike: dict[str, set[str]] = {}
        """Names by what is left of them without case and separators."""
        self._schemas: dict[str, dict[str, Any]] = {}
        self._arguments: dict[str, ArgumentSchema] = {}
        self._runners: dict[str, ToolNode] = {}
        self._direct: dict[str, DirectCall | None] = {}
        for tool in tools:
            self._add(adapted(as_tool(tool)))

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[BaseTool]:
        return iter(self._tools.values())

    def get(self, name: str) -> BaseTool | None:
        """Return the tool of that name, if there is one."""
        return self._tools.get(name)

    def names(self) -> list[str]:
        """List the names in order."""
        return list(self._tools)

    def spelled(self, name: str) -> str:
        """Return a name as a model wrote it in a form that endpoints take back.

        Where just one known tool stands in it, as in `functions.search` or `Search`, that one is
        meant.
        """
        if name in self._tools:
            return name
        pieces = NAME_PIECE.findall(name)
        exact = {piece for piece in pieces if piece in self._tools}
        alike = {tool for piece in pieces for tool in self._alike.get(_folded(piece), ())}
        meant = exact or alike or self._alike.get(_folded("".join(pieces)), set())
        return min(meant) if len(meant) == 1 else "_".join(pieces)[:NAME_LENGTH] or "unnamed"

    def chosen(self, names: Sequence[str]) -> list[BaseTool]:
        """Return the tools of these names in the registry's order; no names means all."""
        return [tool for tool in self if not names or tool.name in names]

    def schema(self, name: str) -> dict[str, Any]:
        """Return the JSON schema of a tool's arguments, without what LangChain injects."""
        if name not in self._schemas:
            function = convert_to_openai_tool(self._tools[name])["function"]
            self._schemas[name] = function.get("parameters") or {"type": "object"}
        return self._schemas[name]

    def arguments(self, name: str) -> "ArgumentSchema":
        """Return what fits arguments to a tool's schema."""
        if name not in self._arguments:
            # It imports jsonschema, which takes 20 ms: an agent's start need not wait for it.
            from graph_agent.tools.arguments import ArgumentSchema  # noqa: PLC0415

            more = {"additionalProperties": True} if takes_any_name(self._tools[name]) else {}
            self._arguments[name] = ArgumentSchema(self.schema(name) | more)
        return self._arguments[name]

    def runner(self, name: str) -> ToolNode:
        """Return what runs a tool, and injects state, store and runtime where it asks for them."""
        if name not in self._runners:
            self._runners[name] = ToolNode([self._tools[name]], handle_tool_errors=False)
        return self._runners[name]

    def direct(self, name: str) -> DirectCall | None:
        """Return what calls a plain tool where nobody listens; None where `runner` has to."""
        if name not in self._direct:
            properties = self.schema(name).get("properties", {})
            self._direct[name] = direct_call(self._tools[name], properties)
        return self._direct[name]

    def _add(self, tool: BaseTool) -> None:
        if not NAME_PIECE.fullmatch(tool.name) or len(tool.name) > NAME_LENGTH:
            raise ConfigError(
                f"The tool name {tool.name!r} is not one that models take: use up to 64 letters, "
                "digits, `_` and `-`."
            )
        if tool.name in self._tools:
            raise ConfigError(f"Two tools are called `{tool.name}`. Rename one of them.")
        self._tools[tool.name] = tool
        self._alike.setdefault(_folded(tool.name), set()).add(tool.name)


def as_tool(tool: Tool) -> BaseTool:
    """Make a tool of a plain typed function; its docstring describes it and its arguments.

    Raises:
        ConfigError: The function has no name or no docstring.
    """
    if isinstance(tool, BaseTool):
        return tool
    name = getattr(tool, "__name__", None)
    if name is None:
        raise ConfigError(f"{tool!r} is no function with a name. Pass a function, or a tool.")
    if not tool.__doc__:
        raise ConfigError(f"The tool `{name}` has no docstring; models choose tools by it.")
    is_async = iscoroutinefunction(tool)
    return StructuredTool.from_function(
        func=None if is_async else tool,
        coroutine=tool if is_async else None,
        parse_docstring=True,
        error_on_invalid_docstring=False,
    )


def takes_any_name(tool: BaseTool) -> bool:
    """Tell whether a tool that is a class takes arguments that no schema names."""
    parameters = signature(tool._run).parameters.values()
    return tool.args_schema is None and any(p.kind is Parameter.VAR_KEYWORD for p in parameters)


def _folded(name: str) -> str:
    """Leave out what models change in names: case and separators."""
    return name.replace("_", "").replace("-", "").casefold()
