"""What a client can do with kept threads, over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from graph_agent import ReActAgent
from graph_agent.server import routes, thread_routes
from graph_agent.server.problems import PROBLEM_RESPONSES, install_problems
from graph_agent.server.protection import SECURITY_HEADERS
from graph_agent.testing import Gate, Held, ScriptedChatModel
from graph_agent.threads.export import ExportedThread
from graph_agent.threads.history import CheckpointInfo

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]


def served(agent: ReActAgent) -> FastAPI:
    """Make an app of both routers."""
    app = FastAPI(responses=PROBLEM_RESPONSES)
    app.state.agent = agent
    known = [*routes.router.routes, *thread_routes.router.routes]
    install_problems(app, routes=known, headers=SECURITY_HEADERS)
    app.include_router(routes.router)
    app.include_router(thread_routes.router)
    return app


@pytest.fixture
async def agent(set_stage: SetStage, speech: Any, database: str) -> ReActAgent:
    """An agent that has answered one question, on thread `t`."""
    script = [speech.final("It is **3**."), speech.final("Sure.")]
    agent: ReActAgent = set_stage(script, database=database).agent
    await agent.run("1 + 2?", thread_id="t")
    return agent


@pytest.fixture
async def client(agent: ReActAgent) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(served(agent), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def test_a_thread_is_renamed(client: httpx.AsyncClient) -> None:
    renamed = await client.patch("/api/threads/t", json={"title": "Sums \x00"})
    listed = await client.get("/api/threads")

    assert (renamed.status_code, renamed.json()["title"]) == (200, "Sums \ufffd")
    assert listed.json() == [renamed.json()]


async def test_a_thread_is_deleted(client: httpx.AsyncClient) -> None:
    deleted = await client.delete("/api/threads/t")
    again = await client.delete("/api/threads/t")
    listed = await client.get("/api/threads")

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (again.status_code, listed.json()) == (404, [])


async def test_a_thread_is_forked_from_a_step(client: httpx.AsyncClient, agent: ReActAgent) -> None:
    history = (await client.get("/api/threads/t/history?limit=3")).json()
    newest = await client.post("/api/threads/t/fork")
    earlier = await client.post(
        "/api/threads/t/fork", json={"checkpoint_id": history[2]["checkpoint_id"]}
    )
    answer = (await agent.run("Sure?", thread_id=newest.json()["thread_id"])).answer

    assert [CheckpointInfo.model_validate(info) for info in history] == await agent.history("t", 3)
    assert (newest.status_code, earlier.status_code, answer) == (201, 201, "Sure.")
    copied = (await agent.snapshot(earlier.json()["thread_id"])).values["messages"]
    assert len(copied) == history[2]["messages"]


async def test_a_thread_is_exported(client: httpx.AsyncClient, agent: ReActAgent) -> None:
    markdown = await client.get("/api/threads/t/export")
    data = await client.get("/api/threads/t/export?form=json")

    assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
    assert markdown.text == await agent.export("t")
    assert data.headers["content-type"] == "application/json"
    assert data.text == await agent.export("t", "json")
    assert ExportedThread.model_validate(data.json()).title == "1 + 2?"


@pytest.mark.parametrize("database", ["memory"], indirect=True)
async def test_a_thread_with_a_run_is_renamed_but_not_deleted(
    set_stage: SetStage, speech: Any, database: str
) -> None:
    gate = Gate()
    agent = set_stage([Held(gate, speech.final("Yes."))], database=database).agent
    transport = httpx.ASGITransport(served(agent))
    run = asyncio.ensure_future(agent.run("Hi", thread_id="t"))
    await gate.reached()

    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        renamed = await client.patch("/api/threads/t", json={"title": "Named"})
        deleted = await client.delete("/api/threads/t")
    gate.open()
    await run

    assert renamed.status_code == 200
    assert (deleted.status_code, deleted.json()["code"]) == (409, "busy")


@pytest.mark.parametrize("database", ["memory"], indirect=True)
@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("PATCH", "nowhere", {"title": "Name"}, 404, "not_found"),
        ("DELETE", "nowhere", None, 404, "not_found"),
        ("GET", "nowhere/history", None, 404, "not_found"),
        ("POST", "nowhere/fork", None, 404, "not_found"),
        ("GET", "nowhere/export", None, 404, "not_found"),
        ("PATCH", "t", {"title": ""}, 422, "invalid_request"),
        ("PATCH", "t", {"title": "x" * 81}, 422, "invalid_request"),
        ("PATCH", "t", {"title": " "}, 400, "config"),
        ("PATCH", "t", {"name": "Name"}, 422, "invalid_request"),
        ("GET", "t/history?limit=0", None, 422, "invalid_request"),
        ("GET", "t/history?limit=201", None, 422, "invalid_request"),
        ("POST", "t/fork", {"checkpoint_id": "none"}, 400, "config"),
        ("GET", "t/export?form=html", None, 422, "invalid_request"),
        ("PUT", "t", None, 405, "http"),
        ("GET", "t/fork", None, 405, "http"),
    ],
)
async def test_what_cannot_be_done_is_a_problem(
    client: httpx.AsyncClient, method: str, path: str, body: Any, status: int, code: str
) -> None:
    response = await client.request(method, f"/api/threads/{path}", json=body)

    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, response.json()["code"]) == (status, code)


async def test_a_thread_that_was_not_asked_yet_is_no_error(client: httpx.AsyncClient) -> None:
    thread = (await client.post("/api/threads")).json()["thread_id"]

    history = await client.get(f"/api/threads/{thread}/history")
    text = await client.get(f"/api/threads/{thread}/export")

    assert (history.json(), text.status_code) == ([], 200)
    assert "Nothing was asked yet." in text.text


def test_openapi_tells_of_every_route_and_form() -> None:
    agent = ReActAgent(ScriptedChatModel(replies=[]), database="memory:")

    paths = served(agent).openapi()["paths"]

    ours = {path: methods for path, methods in paths.items() if path.startswith("/api/threads/{")}
    told = {
        f"{method.upper()} {path.removeprefix('/api/threads/{thread_id}')}".strip(): operation
        for path, methods in ours.items()
        for method, operation in methods.items()
    }
    good = {
        name: {
            status: sorted(response.get("content", {}))
            for status, response in told[name]["responses"].items()
            if status not in ("4XX", "5XX")
        }
        for name in ("PATCH", "DELETE", "GET /history", "POST /fork", "GET /export")
    }
    assert good == {
        "PATCH": {"200": ["application/json"]},
        "DELETE": {"204": []},
        "GET /history": {"200": ["application/json"]},
        "POST /fork": {"201": ["application/json"]},
        "GET /export": {"200": ["application/json", "text/markdown"]},
    }
    exported = told["GET /export"]["responses"]["200"]["content"]
    assert exported["application/json"]["schema"] == {"$ref": "#/components/schemas/ExportedThread"}
    assert [told[name]["description"] for name in good if not told[name]["description"]] == []
