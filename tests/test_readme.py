"""The README: its shape and its commands; `test_docs.py` runs its examples and tries its links."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graph_agent.graph import NODES
from graph_agent.testing import StrictEndpoint

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_SCREEN = 25
"""Lines."""
COMMANDS = [
    command
    for block in re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
    if (command := shlex.split(line, comments=True))
]
AGENT = [command for command in COMMANDS if command[0] == "graph-agent"]
OTHERS = [command for command in COMMANDS if command not in AGENT]
QUESTIONS = {
    "1234 * 5678": {"name": "calculator", "arguments": '{"expression": "1234 * 5678"}'},
    "What time": {"name": "current_time", "arguments": "{}"},
}
"""What the model calls, by a part of the question."""
ENDS = {"resume": 2}
"""Exit codes other than 0: there is no thread to resume."""


def calls_a_tool(body: dict[str, Any]) -> str | dict[str, Any]:
    """Reply as a model that calls the right tool once, then answers."""
    last = body["messages"][-1]
    if "tools" not in body or last["role"] == "tool":
        return "This is the answer."
    call = next(call for part, call in QUESTIONS.items() if part in last["content"])
    return {"tool_calls": [{"id": "call-1", "type": "function", "function": call}]}


def graph_agent(
    *arguments: str, folder: Path, base_url: str = "http://127.0.0.1:9/v1"
) -> "subprocess.CompletedProcess[str]":
    """Run the command line with a fake endpoint as its model."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("GRAPH_AGENT_", "OPENAI_"))}
    chosen = {
        "GRAPH_AGENT_MODEL": "fake",
        "GRAPH_AGENT_DATABASE": f"sqlite:///{folder}/threads.sqlite",
        "OPENAI_BASE_URL": base_url,
    }
    return subprocess.run(
        [sys.executable, "-m", "graph_agent", *arguments],
        cwd=folder,
        env=kept | chosen,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_short_and_begins_with_what_to_do() -> None:
    lines = README.splitlines()

    assert len(lines) <= 150
    first = "\n".join(lines[:FIRST_SCREEN])
    shown = ("docs/images/page-light.png", "make run", "make test", "http://127.0.0.1:8000")
    assert [part for part in shown if part not in first] == []


def test_a_run_is_told_node_by_node() -> None:
    told = re.findall(r"^(\d)\. \[`(\w+)`\]\(graph_agent/nodes/(\w+)\.py\)", README, re.MULTILINE)

    names = [node.__name__ for node in NODES]
    assert told == [(str(number), name, name) for number, name in enumerate(names, 1)]


@pytest.mark.parametrize("command", OTHERS, ids=" ".join)
def test_its_other_commands_are_of_this_project(command: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)

    known = [["make", target] for target in targets] + [["source", ".venv/bin/activate"]]
    assert command in known


@pytest.mark.parametrize("command", AGENT, ids=" ".join)
def test_its_options_exist(command: list[str], tmp_path: Path) -> None:
    shown = graph_agent(command[1], "--help", folder=tmp_path)

    assert shown.returncode == 0, shown.stderr
    options = [part for part in command[2:] if part.startswith("--")]
    assert [option for option in options if option not in shown.stdout] == []


@pytest.mark.parametrize("command", [c for c in AGENT if c[1] != "serve"], ids=" ".join)
def test_its_commands_run(command: list[str], tmp_path: Path) -> None:
    with StrictEndpoint(calls_a_tool) as endpoint:
        done = graph_agent(*command[1:], folder=tmp_path, base_url=endpoint.base_url)

    assert done.returncode == ENDS.get(command[1], 0), done.stderr
    assert ("This is the answer." in done.stdout) == (command[1] == "ask")
