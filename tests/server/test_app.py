"""The app around its routes: health, the page, and what protects both."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graph_agent import ReActAgent
from graph_agent.server.app import create_app
from graph_agent.testing import ScriptedChatModel

pytestmark = pytest.mark.anyio

Inside = Callable[..., Awaitable[Any]]


def agent() -> ReActAgent:
    return ReActAgent(ScriptedChatModel(replies=[]), database="memory:")


async def test_it_says_that_it_is_up(inside: Inside) -> None:
    response = await (await inside(agent())).client.get("/healthz")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


async def test_runs_and_tokens_are_counted(inside: Inside) -> None:
    usage = {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15}
    replies = [AIMessage("One.", usage_metadata=usage), RuntimeError("broken"), "Two."]
    web = await inside(ReActAgent(ScriptedChatModel(replies=replies), database="memory:"))
    fresh = (await web.client.get("/metrics")).text
    for _ in replies:
        await web.ask(await web.thread())

    response = await web.client.get("/metrics")

    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert [line for line in fresh.splitlines() if not line.startswith("#")] == [
        "graph_agent_runs_started_total 0",
        "graph_agent_runs_in_progress 0",
    ]
    assert response.text == (
        "# HELP graph_agent_runs_started_total Runs that began.\n"
        "# TYPE graph_agent_runs_started_total counter\n"
        "graph_agent_runs_started_total 3\n"
        "# HELP graph_agent_runs_ended_total Runs that ended.\n"
        "# TYPE graph_agent_runs_ended_total counter\n"
        'graph_agent_runs_ended_total{stop_reason="error"} 1\n'
        'graph_agent_runs_ended_total{stop_reason="final"} 2\n'
        "# HELP graph_agent_runs_in_progress Runs in progress.\n"
        "# TYPE graph_agent_runs_in_progress gauge\n"
        "graph_agent_runs_in_progress 0\n"
        "# HELP graph_agent_tokens_total Tokens of answered runs.\n"
        "# TYPE graph_agent_tokens_total counter\n"
        'graph_agent_tokens_total{kind="input"} 12\n'
        'graph_agent_tokens_total{kind="output"} 3\n'
    )


async def test_the_page_and_its_parts_are_served(inside: Inside) -> None:
    web = await inside(agent())

    types = {
        path: (await web.client.get(path)).headers["content-type"]
        for path in ("/", "/main.js", "/style.css", "/logo.svg", "/vendor/purify.es.js")
    }

    assert types == {
        "/": "text/html; charset=utf-8",
        "/main.js": "text/javascript; charset=utf-8",
        "/style.css": "text/css; charset=utf-8",
        "/logo.svg": "image/svg+xml",
        "/vendor/purify.es.js": "text/javascript; charset=utf-8",
    }


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/api/tools", "/api/threads/none", "/nowhere", "/../app.py"]
)
async def test_every_response_forbids_foreign_script(inside: Inside, path: str) -> None:
    response = await (await inside(agent())).client.get(path)

    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; ")
    assert "unsafe" not in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:8000", 200),
        ("LOCALHOST", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("127.0.0.1@evil.example", 421),
        ("[::1", 421),
        ("", 421),
    ],
)
async def test_only_our_own_names_are_answered(inside: Inside, host: str, status: int) -> None:
    web = await inside(agent())

    response = await web.client.get("/healthz", headers={"Host": host})

    assert response.status_code == status
    assert "content-security-policy" in response.headers
    if status == 421:
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["code"] == "host"


async def test_other_names_can_be_allowed(inside: Inside) -> None:
    web = await inside(agent(), hosts=("*",))

    response = await web.client.get("/healthz", headers={"Host": "agent.example"})

    assert response.status_code == 200


def test_openapi_tells_of_every_route_and_error() -> None:
    document = create_app(agent=agent()).openapi()
    operations = {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }

    assert sorted(operations) == [
        "DELETE /api/threads/{thread_id}",
        "DELETE /api/threads/{thread_id}/interrupts/{interrupt_id}",
        "GET /api/models",
        "GET /api/threads",
        "GET /api/threads/{thread_id}",
        "GET /api/threads/{thread_id}/events",
        "GET /api/threads/{thread_id}/export",
        "GET /api/threads/{thread_id}/history",
        "GET /api/tools",
        "GET /healthz",
        "GET /metrics",
        "PATCH /api/threads/{thread_id}",
        "POST /api/threads",
        "POST /api/threads/{thread_id}/cancel",
        "POST /api/threads/{thread_id}/fork",
        "POST /api/threads/{thread_id}/interrupts",
        "POST /api/threads/{thread_id}/resume",
        "POST /api/threads/{thread_id}/runs",
    ]
    for name, operation in operations.items():
        responses = operation["responses"]
        assert operation["description"], name
        assert set(responses) - {"200", "201", "202", "204"} == {"4XX", "5XX"}, name
        for kind in ("4XX", "5XX"):
            schema = responses[kind]["content"]["application/problem+json"]["schema"]
            assert set(schema["properties"]) == {"type", "title", "status", "detail", "code"}
        (good,) = set(responses) - {"4XX", "5XX"}
        for described in responses[good].get("content", {}).values():
            assert described["schema"] != {}, name


def test_openapi_tells_of_the_event_stream() -> None:
    paths = create_app(agent=agent()).openapi()["paths"]

    run = paths["/api/threads/{thread_id}/runs"]["post"]["responses"]["200"]["content"]
    events = paths["/api/threads/{thread_id}/events"]["get"]
    followed = events["responses"]["200"]["content"]

    assert sorted(run) == ["application/json", "text/event-stream"]
    assert run["application/json"]["schema"] == {"$ref": "#/components/schemas/Done"}
    assert list(followed) == ["text/event-stream"]
    assert [(p["name"], p["in"]) for p in events["parameters"]] == [
        ("thread_id", "path"),
        ("last-event-id", "header"),
    ]


async def test_openapi_is_served_below_the_api(inside: Inside) -> None:
    web = await inside(agent())

    assert (await web.client.get("/api/openapi.json")).json()["info"]["title"] == "graph-agent"
