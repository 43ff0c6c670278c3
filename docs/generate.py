"""Writes what is made from the code: `reference.md`, `graph.mmd`, and the README's settings."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import graph_agent
from graph_agent import errors, events
from graph_agent.events import Event
from graph_agent.graph import build_graph
from graph_agent.settings import ENV_PREFIX, RunOptions, Settings
from graph_agent.testing import ScriptedChatModel

FOLDER = Path(__file__).parent
README = FOLDER.parent / "README.md"
INTRO = """# Reference

Made from the code by `make docs`: change the docstrings, not this page.

- [Settings](#settings) · [Choices for one run](#choices-for-one-run)
- [Events](#events)
- [Errors](#errors)
- [Python](#python)
"""
SETTINGS = f"""## Settings

In `graph-agent.toml` below `[agent]`; in the environment `{ENV_PREFIX}<NAME>` in capitals; in
Python keyword arguments of `ReActAgent` and `build_graph`. The later of these three wins, and a
name that is no setting is an error.
"""
OPTIONS = """## Choices for one run

`options=RunOptions(…)` in Python; `context` in LangGraph and LangGraph Studio. None, the default,
leaves the choice to the settings.
"""
EVENTS = """## Events

One `{"event": name, "data": {…}}` for each, in LangGraph's `custom` stream, in `ReActAgent.stream`,
in the lines of `--json`, and as Server-Sent Events. `end` is always the last.
"""
SPECIAL_DEFAULTS = {
    "system_prompt": "a short one",
    "database": "SQLite in the user's data folder",
}
"""Defaults that are too long, or another on each machine."""


def pages() -> dict[Path, str]:
    """Return every generated file's text."""
    graph = build_graph(ScriptedChatModel(replies=[])).get_graph()
    return {
        FOLDER / "reference.md": reference(),
        FOLDER / "graph.mmd": graph.draw_mermaid(),
        README: readme(),
    }


def reference() -> str:
    """Describe the settings, events, errors and the public names."""
    return "\n".join(
        [
            *(INTRO, SETTINGS, table(settings_rows(), "setting", "default", "what it does")),
            *(OPTIONS, table(option_rows(), "choice", "what it does")),
            *(EVENTS, table(event_rows(), "event", "fields of `data`", "when")),
            *("## Errors\n", fenced(errors.__doc__ or "", "text")),
            table(error_rows(), "error", "`code`", "when"),
            *(
                "## Python\n",
                *(section(name) for name in graph_agent.__all__ if not in_a_table(name)),
            ),
        ]
    )


def readme() -> str:
    """Return the README with the rows of its table of settings written anew."""
    rows = {cells[0]: table_row(cells) for cells in settings_rows()}
    text = README.read_text(encoding="utf-8")
    return re.sub(r"^\| (`\w+`) \|.*\n", lambda row: rows[row[1]], text, flags=re.MULTILINE)


def settings_rows() -> Iterator[tuple[str, ...]]:
    """Give each setting with its default."""
    said = attribute_docs(Settings)
    for name, field in Settings.model_fields.items():
        default = field.get_default()
        shown = "none" if default is None else f"`{default}`"
        yield f"`{name}`", SPECIAL_DEFAULTS.get(name, shown), said[name]


def option_rows() -> Iterator[tuple[str, ...]]:
    """Give each choice for one run."""
    return ((f"`{name}`", said) for name, said in attribute_docs(RunOptions).items())


def event_rows() -> Iterator[tuple[str, ...]]:
    """Give each event with the fields that it carries."""
    for event in vars(events).values():
        if inspect.isclass(event) and issubclass(event, Event) and event is not Event:
            fields = ", ".join(field_text(event, name) for name in event.model_fields)
            yield f"`{event.channel}`", fields or "none", first_line(event)


def field_text(event: type[Event], name: str) -> str:
    """Write a field; one that has a single value is shown with it."""
    default = event.model_fields[name].default
    return f"`{name}: {default}`" if isinstance(default, str) else f"`{name}`"


def error_rows() -> Iterator[tuple[str, ...]]:
    """Give each error with the code that travels in the `error` event."""
    for error in vars(errors).values():
        if inspect.isclass(error) and issubclass(error, errors.GraphAgentError):
            yield f"`{error.__name__}`", f"`{error.code}`", first_line(error)


def in_a_table(name: str) -> bool:
    """Tell whether one of the tables says all there is about a public name."""
    thing = getattr(graph_agent, name)
    return thing in (RunOptions, Settings) or name in vars(errors)


def section(name: str) -> str:
    """Describe a public name by its signatures and docstrings, as they stand in the code."""
    thing = getattr(graph_agent, name)
    parts = [part for kind in (thing, *parents(thing)) for part in heads(kind)]
    return f"### `{name}`\n\n" + fenced("\n\n".join(parts), "python")


def parents(thing: Any) -> list[type]:
    """List the classes of ours that a class takes methods from."""
    above = thing.__mro__[1:] if inspect.isclass(thing) else ()
    return [kind for kind in above if kind.__module__.startswith("graph_agent.")]


def heads(thing: Any) -> list[str]:
    """Describe a class with its public methods, or a function."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    methods = public_methods(node) if isinstance(node, ast.ClassDef) else []
    return [head(thing, node), *(head(thing, method) for method in methods)]


def public_methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """List the methods that callers use."""
    functions = (f for f in node.body if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef))
    return [f for f in functions if f.name == "__init__" or not f.name.startswith("_")]


def head(thing: Any, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return a definition's source down to the end of its docstring and, in a class, its fields."""
    lines = textwrap.dedent(inspect.getsource(thing)).splitlines()
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    shown = [part for part in node.body if isinstance(part, ast.AnnAssign | ast.Expr)]
    inner = (
        shown if isinstance(node, ast.ClassDef) else shown[: ast.get_docstring(node) is not None]
    )
    last = inner[-1].end_lineno if inner else node.body[0].lineno - 1
    return "\n".join(lines[first - 1 : last])


def attribute_docs(kind: type) -> dict[str, str]:
    """Read the line beneath each field of a class."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(node, ast.ClassDef)
    found: dict[str, str] = {}
    for field, said in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(said, ast.Expr):
            found[ast.unparse(field.target)] = str(ast.literal_eval(said.value))
    return found


def first_line(kind: type) -> str:
    """Return the first line of a class's docstring."""
    return (kind.__doc__ or "").strip().split("\n", 1)[0]


def table(rows: Iterable[tuple[str, ...]], *header: str) -> str:
    """Write a Markdown table."""
    return "".join(map(table_row, [header, tuple("---" for _ in header), *rows]))


def table_row(cells: tuple[str, ...]) -> str:
    """Write one line of a Markdown table."""
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |\n"


def fenced(text: str, language: str) -> str:
    """Write a block of code."""
    return f"```{language}\n{text.strip()}\n```\n"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
