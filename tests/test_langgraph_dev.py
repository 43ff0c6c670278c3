"""The graph under `langgraph dev`, started as its users do, without a key or a network."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from graph_agent.testing import StrictEndpoint, check_events

CONFIG = Path(__file__).parents[1] / "langgraph.json"
PATIENCE = 60.0
"""Seconds that the server may take to start, or to answer."""
QUESTION = {"messages": [{"role": "user", "content": "What is 1234 * 5678?"}]}
CALL = {"name": "calculator", "arguments": json.dumps({"expression": "1234 * 5678"})}


def calculates(body: dict[str, Any]) -> str | dict[str, Any]:
    """Reply as a model that calls the calculator, then reads its result."""
    if "tools" in body and body["messages"][-1]["role"] == "user":
        return {"tool_calls": [{"id": "call-1", "type": "function", "function": CALL}]}
    return "1234 * 5678 is 7,006,652."


@contextmanager
def serving(folder: Path, environ: Mapping[str, str]) -> Iterator[httpx.Client]:
    """Run `langgraph dev` in `folder`, where it keeps its files, and give a client for it."""
    shutil.copy(CONFIG, folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--port", str(port)]
    log = folder / "log.txt"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, "--no-browser", "--no-reload"],
            cwd=folder,
            env={**environ, "LANGGRAPH_CLI_NO_ANALYTICS": "1"},
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as server,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client,
    ):
        try:
            wait_until_ready(client, server, log)
            yield client
        finally:
            server.terminate()


def wait_until_ready(client: httpx.Client, server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Poll the server until it answers; it has no other sign."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text(encoding="utf-8")
        try:
            client.get("/ok").raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"not ready after {PATIENCE} seconds: {log.read_text(encoding='utf-8')}")


def clean_environment() -> dict[str, str]:
    """Return this process's environment without what would choose a model or set an option."""
    chosen = ("GRAPH_AGENT_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_")
    return {name: value for name, value in os.environ.items() if not name.startswith(chosen)}


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Serve the graph with a fake endpoint as its model."""
    with StrictEndpoint(calculates) as endpoint:
        environ = {"GRAPH_AGENT_MODEL": "fake", "OPENAI_BASE_URL": endpoint.base_url}
        folder = tmp_path_factory.mktemp("dev")
        with serving(folder, clean_environment() | environ) as client:
            yield client


def new_thread(client: httpx.Client) -> str:
    thread_id: str = client.post("/threads", json={}).raise_for_status().json()["thread_id"]
    return thread_id


def run(client: httpx.Client, thread_id: str, **options: Any) -> list[dict[str, Any]]:
    """Run the graph on a thread, and return what it wrote to the custom stream."""
    body = {
        "assistant_id": "react",
        "input": QUESTION,
        "context": options,
        "stream_mode": ["custom"],
    }
    events, kind = [], ""
    with client.stream("POST", f"/threads/{thread_id}/runs/stream", json=body) as answer:
        for line in answer.raise_for_status().iter_lines():
            name, _, value = line.partition(": ")
            kind = value if name == "event" else kind
            if name == "data" and kind == "custom":
                events.append(json.loads(value))
    return events


def test_a_run_streams_its_events_and_is_kept(dev: httpx.Client) -> None:
    thread_id = new_thread(dev)

    events = run(dev, thread_id)

    check_events(events)
    state = dev.get(f"/threads/{thread_id}/state").raise_for_status().json()
    assert state["next"] == []
    assert state["values"]["answer"] == "1234 * 5678 is 7,006,652."
    assert state["values"]["stop_reason"] == "final"
    assert [m["type"] for m in state["values"]["messages"]] == ["human", "ai", "tool", "ai"]


def test_a_client_of_its_store_interrupts_a_run_once(dev: httpx.Client) -> None:
    thread_id = new_thread(dev)
    place = {"namespace": ["interrupts", thread_id], "key": "by-hand"}
    dev.put("/store/items", json=place | {"value": {"content": "Show it."}}).raise_for_status()

    events, again = run(dev, thread_id), run(dev, thread_id)

    check_events(events)
    told = [event["data"] for event in events if event["event"] == "inject"]
    assert told == [{"type": "inject", "content": "Show it.", "ids": ["by-hand"]}]
    assert "inject" not in [event["event"] for event in again]
    search = {"namespace_prefix": ["interrupts", thread_id]}
    assert dev.post("/store/items/search", json=search).json()["items"] == []


def test_a_run_takes_the_choices_of_a_studio_user(dev: httpx.Client) -> None:
    events = run(dev, new_thread(dev), model="another", max_iterations=1, synthesis="never")

    check_events(events)
    done = events[-2]["data"]
    assert (done["stop_reason"], done["iterations"], done["usage"]["calls"]) == (
        "max_iterations",
        1,
        1,
    )


def test_studio_is_told_what_can_be_chosen(dev: httpx.Client) -> None:
    (react,) = dev.post("/assistants/search", json={"graph_id": "react"}).json()
    schemas = dev.get(f"/assistants/{react['assistant_id']}/schemas").raise_for_status().json()

    assert set(schemas["context_schema"]["properties"]) >= {
        "model",
        "max_iterations",
        "use_native_tools",
        "synthesis",
    }
    assert list(schemas["input_schema"]["properties"]) == ["messages"]


def test_without_a_usable_model_the_graph_is_drawn_and_a_run_says_why(tmp_path: Path) -> None:
    environ = clean_environment() | {"GRAPH_AGENT_MODEL": "nonsense"}

    with serving(tmp_path, environ) as client:
        drawn = client.get("/assistants/react/graph")
        events = run(client, new_thread(client))

    assert drawn.status_code == httpx.codes.OK
    check_events(events)
    assert (events[-2]["event"], events[-2]["data"]["code"]) == ("error", "config")
    assert events[-2]["data"]["message"].startswith("There is no model `nonsense`.")
