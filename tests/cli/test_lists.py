"""Help, the graph's picture, the list of models."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

import graph_agent
from graph_agent.errors import GraphAgentError

RunCli = Callable[..., Result]
EventsIn = Callable[[str], list[dict[str, Any]]]

CONFIG = """
default_model = "main"
[models.main]
model = "gpt-5-mini"
api_key_env = "MAIN_KEY"
[models.small]
model = "qwen2.5-1.5b"
base_url = "http://me:hidden@127.0.0.1:8080/v1?key=hidden"
abilities = { tool_call = false }
context_size = 8192
max_output_tokens = 1024
hints = ["fast"]
"""


@pytest.fixture
def config(cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "graph-agent.toml").write_text(CONFIG, encoding="utf-8")


def test_help_and_version_come_without_the_engine(cli: RunCli) -> None:
    names = ("ask", "chat", "serve", "threads", "resume", "interrupt", "graph", "models")
    heavy = "{'langgraph', 'langchain_core', 'openai', 'pydantic', 'fastapi', 'rich'}"
    code = f"import sys, graph_agent.cli; print({heavy} & sys.modules.keys())"

    shown = cli("--help")
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True)

    assert shown.exit_code == 0
    assert [name for name in names if f"\n  {name} " not in shown.stdout] == []
    assert cli("--version").stdout == "graph-agent 0.1.0\n"
    assert loaded == "set()\n"


def test_every_public_name_is_there_when_asked_for() -> None:
    found = {name: getattr(graph_agent, name) for name in graph_agent.__all__}

    assert {name for name, value in found.items() if value.__name__ != name} == set()
    assert found["GraphAgentError"] is GraphAgentError
    assert set(graph_agent.__all__) <= set(dir(graph_agent))
    with pytest.raises(AttributeError, match="no attribute 'Nope'"):
        _ = graph_agent.Nope  # type: ignore[attr-defined] # that it is missing is the point


def test_graph_is_drawn_without_a_model(cli: RunCli) -> None:
    result = cli("graph")

    assert (result.exit_code, result.stderr) == (0, "")
    assert "guard_context --> think;" in result.stdout


@pytest.mark.usefixtures("config")
def test_models_tells_what_is_set_up_but_no_secret(cli: RunCli, events_in: EventsIn) -> None:
    result = cli("models", "--json", MAIN_KEY="secret")

    main, small, end = events_in(result.stdout)
    assert result.exit_code == 0
    assert "secret" not in result.stdout
    assert (main["data"]["name"], main["data"]["default"], main["data"]["problem"]) == (
        "main",
        True,
        "",
    )
    assert small == {
        "event": "model",
        "data": {
            "name": "small",
            "default": False,
            "provider": "openai",
            "model": "qwen2.5-1.5b",
            "address": "http://127.0.0.1:8080/v1",
            "abilities": ["json_mode"],
            "context_size": 8192,
            "max_output_tokens": 1024,
            "hints": ["fast"],
            "problem": "",
        },
    }
    assert end == {"event": "end", "data": {}}


@pytest.mark.usefixtures("config")
def test_models_tells_which_one_lacks_its_key(cli: RunCli) -> None:
    result = cli("models")

    main, small = [line.split("\t") for line in result.stdout.splitlines()]
    assert main == [
        "main",
        "default",
        "openai:gpt-5-mini",
        "",
        "",
        "",
        "",
        "The model `gpt-5-mini` needs a key: set MAIN_KEY.",
    ]
    assert small[-1] == ""


def test_a_model_from_the_environment_is_listed_too(cli: RunCli) -> None:
    result = cli("models", "--json", OPENAI_API_KEY="secret", GRAPH_AGENT_MODEL="gpt-x")

    row = json.loads(result.stdout.splitlines()[0])["data"]
    assert (row["name"], row["default"], row["model"]) == ("gpt-x", True, "gpt-x")
