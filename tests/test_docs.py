"""All documents: what is generated is current, links lead somewhere, and examples run."""

import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from graph_agent.config import FileConfig
from graph_agent.settings import Settings
from graph_agent.testing import StrictEndpoint

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
GENERATED: dict[Path, str] = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
EXAMPLE = """
import ast, asyncio, inspect, sys

code = compile(sys.stdin.read(), "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
work = eval(code, {"__name__": "__main__"})
if inspect.iscoroutine(work):
    asyncio.run(work)
"""
"""Runs a block as a script, or, where it awaits, as a notebook cell."""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(language: str, pages: list[Path]) -> list[Any]:
    """List the blocks of code in a language, each with its page and number as its id."""
    return [
        pytest.param(code, id=f"{name(page)}-{number}")
        for page in pages
        for number, (found, code) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
        if found == language
    ]


def counts_people(body: dict[str, Any]) -> str | dict[str, Any]:
    """Reply as the model of the examples: look the number up, then say it."""
    if "tools" not in body or body["messages"][-1]["role"] == "tool":
        return "About 9.3 million people live in Seoul."
    call = {"name": "population", "arguments": '{"city": "Seoul"}'}
    offered = [tool["function"]["name"] for tool in body["tools"]]
    assert offered == ["population"], offered
    return {"tool_calls": [{"id": "call-1", "type": "function", "function": call}]}


@pytest.mark.parametrize("path", GENERATED, ids=name)
def test_what_is_generated_is_current(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == GENERATED[path], "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    found = [one or other for one, other in LINK.findall(page.read_text(encoding="utf-8"))]

    local = [link for link in found if "://" not in link]
    assert [link for link in local if not leads_somewhere(page, link)] == []


def leads_somewhere(page: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = page.parent / file if file else page
    if not target.exists():
        return False
    headings = HEADING.findall(target.read_text(encoding="utf-8")) if anchor else []
    return not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("code", blocks("toml", PAGES))
def test_a_config_file_in_the_documents_is_valid(code: str) -> None:
    file = FileConfig.model_validate(tomllib.loads(code))

    assert Settings.load({}, file=file.agent).model_dump().items() >= file.agent.items()


@pytest.mark.parametrize("code", blocks("python", [p for p in PAGES if p.name != "reference.md"]))
def test_an_example_runs_and_leaves_nothing_open(code: str, tmp_path: Path) -> None:
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("GRAPH_AGENT_", "OPENAI_"))}
    with StrictEndpoint(counts_people) as endpoint:
        chosen = {
            "GRAPH_AGENT_MODEL": "fake",
            "GRAPH_AGENT_DATABASE": f"sqlite:///{tmp_path}/threads.sqlite",
            "OPENAI_BASE_URL": endpoint.base_url,
        }
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", EXAMPLE],
            input=code,
            env=kept | chosen,
            cwd=tmp_path,
            text=True,
            capture_output=True,
            check=False,
        )

    assert (done.returncode, done.stderr) == (0, "")
