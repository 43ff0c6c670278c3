"""The structure that the documents promise: layers, sizes, names, and the public surface."""

import ast
import statistics
from dataclasses import fields
from pathlib import Path

import pytest

import graph_agent
from graph_agent import testing
from graph_agent.state import AgentState, Update

PACKAGE = Path(graph_agent.__file__).parent
LAYERS = [
    {
        "errors",
        "prompts",
        "json_text",
        "bridge",
        "plain_text",
        "per_loop",
        "message_cache",
        "listeners",
        "testing",
    },
    {"settings", "question", "thread_messages"},
    {"state"},
    {"usage", "events", "hooks", "incoming", "interrupts", "tools"},
    {"models", "backends", "plugins", "event_sink"},
    {"structured", "context", "limits", "repeats", "draft"},
    {"protocols", "trace", "answer_form", "tool_catalogue"},
    {"deps", "guards", "record", "result", "ending_events"},
    {"structured_answer"},
    {"nodes"},
    {"sync_graph"},
    {"graph"},
    {"threads"},
    {"turns"},
    {"agent"},
    {"config", "runs"},
    {"studio", "server"},
    {"cli"},
    {"__main__", "__init__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 350
MEDIAN_LINES = 100
MAX_FUNCTION_LINES = 40
MEDIAN_FUNCTION_LINES = 12
EMPTY_NAMES = {"utils", "helpers", "common", "core", "base", "manager", "misc"}


def parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def room(module: Path) -> str:
    """The part of the package that a module belongs to."""
    first = module.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_rooms(module: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.ImportFrom) and node.module == "graph_agent":
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graph_agent."):
            names.add(str(node.module).split(".")[1])
    return names


def functions(module: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(parsed(module)) if isinstance(node, kinds)]


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    words = ast.get_docstring(function, clean=False)
    total = (function.end_lineno or function.lineno) - function.lineno + 1
    return total - (words.count("\n") + 1 if words else 0)


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(PACKAGE)))
def test_imports_point_down(module: Path) -> None:
    own = room(module)

    upward = [name for name in imported_rooms(module) - {own} if RANK[name] >= RANK[own]]

    assert upward == []


def test_every_room_has_a_layer() -> None:
    assert {room(module) for module in MODULES} - set(RANK) == set()


def test_modules_are_small_and_say_their_job() -> None:
    lines = {module: len(module.read_text(encoding="utf-8").splitlines()) for module in MODULES}

    assert {str(m): n for m, n in lines.items() if n > MAX_LINES} == {}
    assert statistics.median(lines.values()) < MEDIAN_LINES
    assert [str(module) for module in MODULES if not ast.get_docstring(parsed(module))] == []
    assert [str(m) for m in MODULES if EMPTY_NAMES & {m.stem, m.parent.name}] == []


def test_functions_are_short() -> None:
    sizes = {
        f"{module.relative_to(PACKAGE)}:{function.name}": body_lines(function)
        for module in MODULES
        for function in functions(module)
    }

    assert {name: size for name, size in sizes.items() if size > MAX_FUNCTION_LINES} == {}
    assert statistics.median(sizes.values()) < MEDIAN_FUNCTION_LINES


def test_graph_py_shows_the_picture_on_one_screen() -> None:
    graph = PACKAGE / "graph.py"
    wiring = {function.name: function for function in functions(graph)}

    assert {"wire", "after_think", "after_drain", "after_synthesize"} <= set(wiring)
    first, last = wiring["wire"].lineno, wiring["after_synthesize"].end_lineno or 0
    assert last - first < 50


@pytest.mark.parametrize("module", [graph_agent, testing], ids=lambda m: m.__name__)
def test_all_is_sorted_and_true(module: object) -> None:
    names = list(module.__all__)  # type: ignore[attr-defined]

    assert names == sorted(names)
    assert [name for name in names if not hasattr(module, name)] == []


def test_a_node_may_write_what_the_state_holds_and_nothing_else() -> None:
    assert set(Update.__annotations__) == {field.name for field in fields(AgentState)}
