"""Each notebook, run in a kernel as its readers run it: offline, with the scripted model."""

import json
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
SHOWN = {
    "01_first_run": ["7,006,652", "3,503,326", "**144**", "**12**", "**30**", "drain_interrupts"],
    "04_context_budget": [
        "**every kilometre**",
        "42 model calls, within the budget: True",
        "before call",
        "core.display.SVG object",
        "[Summary of what came before]",
        "40 pages in the record",
    ],
}
"""What a reader must find in the outputs, by notebook."""
MOST_CODE_CELLS = 12
PATIENCE = 120
"""Seconds that one cell may take."""
INSIDE_A_KERNEL = """
from graph_agent import ReActAgent, build_graph
from graph_agent.testing import ScriptedChatModel

graph = build_graph(ScriptedChatModel(replies=["one", "two", "three"]))
question = {"messages": [("user", "Count.")]}
print(graph.invoke(question)["answer"])
print((await graph.ainvoke(question))["answer"])
print(list(graph.stream(question, stream_mode="values"))[-1]["answer"])

with_threads = ReActAgent(ScriptedChatModel(replies=["four"]), database="sqlite:///t.sqlite")
print(with_threads.run_sync("Count.").answer)
with_threads.close()
"""


def ids(path: Path) -> str:
    return path.stem


def parsed(source: str) -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode = nbformat.reads(source, as_version=4)  # type: ignore[no-untyped-call]  # nbformat has no annotations
    return notebook


def run(notebook: nbformat.NotebookNode, folder: Path) -> str:
    """Run all cells with no model set up, and return what they wrote; an error in one raises."""
    chosen = ("GRAPH_AGENT_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(chosen)}
    client = NotebookClient(
        notebook, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    client.execute(env=environ | {"IPYTHONDIR": str(folder)})
    return "".join(
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_a_notebook_runs_offline_and_shows_the_answers(path: Path, tmp_path: Path) -> None:
    written = run(parsed(path.read_text(encoding="utf-8")), tmp_path)

    assert [text for text in SHOWN[path.stem] if text not in written] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_a_notebook_is_short_and_saved_without_outputs(path: Path) -> None:
    notebook = parsed(path.read_text(encoding="utf-8"))

    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) <= MOST_CODE_CELLS
    assert [cell.source for cell in cells if cell.outputs or cell.execution_count] == []


def test_sync_calls_work_beside_awaits_in_a_kernel(tmp_path: Path) -> None:
    code = {"cell_type": "code", "id": "c", "metadata": {}, "source": INSIDE_A_KERNEL}
    cells = [{**code, "outputs": [], "execution_count": None}]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}

    assert run(parsed(json.dumps(notebook)), tmp_path) == "one\ntwo\nthree\nfour\n"
