"""Every error is an RFC 9457 problem document that says what to do."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from graph_agent import ReActAgent
from graph_agent.errors import ContextOverflowError
from graph_agent.server.problems import status_of
from graph_agent.server.routes import the_agent
from graph_agent.testing import HttpError, ScriptedChatModel

pytestmark = pytest.mark.anyio

Inside = Callable[..., Awaitable[Any]]
SetStage = Callable[..., Any]
JSON = {"Accept": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "detail"),
    [
        ("GET", "/api/threads/none", None, 404, "not_found", "There is no thread none."),
        ("GET", "/api/threads/none/events", None, 404, "not_found", "There is no thread none."),
        ("POST", "/api/threads/none/cancel", None, 404, "not_found", "There is no thread none."),
        ("POST", "/api/threads/none/resume", None, 404, "not_found", "There is no thread none."),
        (
            *("POST", "/api/threads/none/runs", {"message": "Hi"}),
            *(404, "not_found", "There is no thread none."),
        ),
        (
            *("POST", "/api/threads/none/interrupts", {"content": "Hi"}),
            *(404, "not_found", "There is no thread none."),
        ),
        ("DELETE", "/api/threads/none/interrupts/1", None, 404, "not_found", "There is no thread"),
        ("GET", "/api/nowhere", None, 404, "http", "Not Found"),
        ("POST", "/api/nowhere", {}, 404, "http", "There is no such address."),
        ("GET", "/nowhere.js", None, 404, "http", "Not Found"),
        ("PUT", "/api/threads", {}, 405, "http", "PUT is not possible here; GET, POST is."),
        ("DELETE", "/api/tools", None, 405, "http", "DELETE is not possible here; GET is."),
        ("POST", "/", {}, 405, "http", "POST is not possible here; GET, HEAD is."),
        ("GET", "/api/threads?limit=0", None, 422, "invalid_request", "`query.limit`: "),
        ("POST", "/api/threads/none/runs", {}, 422, "invalid_request", "`body.message`: Field"),
        (
            *("POST", "/api/threads/none/runs", {"message": "Hi", "modle": "x"}),
            *(422, "invalid_request", "`body.modle`: Extra inputs are not permitted"),
        ),
        ("POST", "/api/threads/none/runs", {"message": ""}, 422, "invalid_request", "`body.mess"),
    ],
)
async def test_an_error_is_a_problem_document(
    inside: Inside, method: str, path: str, body: Any, status: int, code: str, detail: str
) -> None:
    web = await inside(ReActAgent(ScriptedChatModel(replies=[]), database="memory:"))

    response = await web.client.request(method, path, json=body)

    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert told.pop("detail").startswith(detail)
    assert told == {
        "type": "about:blank",
        "title": response.reason_phrase.replace("Content", "Entity"),
        "status": status,
        "code": code,
    }
    assert response.status_code == status
    assert ("allow" in response.headers) == (status == 405)


async def test_a_form_from_another_site_starts_nothing(inside: Inside) -> None:
    web = await inside(ReActAgent(ScriptedChatModel(replies=[]), database="memory:"))
    thread = await web.thread()

    response = await web.client.post(
        f"{thread}/runs", content='{"message": "Hi"}', headers={"Content-Type": "text/plain"}
    )

    assert response.status_code == 422
    assert response.json()["code"] == "invalid_request"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"message": " "}, 400, "config"),
        ({"message": []}, 400, "config"),
        ({"message": "Hi", "model": "no such model"}, 400, "config"),
    ],
)
async def test_what_cannot_begin_is_refused_before_the_stream(
    inside: Inside, set_stage: SetStage, body: Any, status: int, code: str
) -> None:
    web = await inside(set_stage([]).agent)
    thread = await web.thread()

    response = await web.client.post(f"{thread}/runs", json=body)

    assert (response.status_code, response.json()["code"]) == (status, code)
    assert (await web.client.get(thread)).json()["running"] is False


async def test_a_failed_run_is_a_problem_where_json_was_asked_for(
    inside: Inside, set_stage: SetStage
) -> None:
    web = await inside(set_stage([HttpError(status=503)]).agent)
    thread = await web.thread()

    response = await web.client.post(f"{thread}/runs", json={"message": "Hi"}, headers=JSON)

    assert (response.status_code, response.json()["code"]) == (502, "model_unavailable")


async def test_an_unexpected_error_tells_nothing_of_itself(inside: Inside) -> None:
    web = await inside(ReActAgent(ScriptedChatModel(replies=[]), database="memory:"))

    def fail() -> None:
        raise LookupError("secret")

    web.app.dependency_overrides[the_agent] = fail
    response = await web.client.get("/api/tools")

    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json"
    assert "content-security-policy" in response.headers
    assert response.json()["code"] == "internal"
    assert "secret" not in response.text


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("config", 400),
        ("not_found", 404),
        ("busy", 409),
        ("cancelled", 409),
        (ContextOverflowError.code, 502),
        ("internal", 500),
    ],
)
def test_the_status_follows_from_the_code(code: str, status: int) -> None:
    assert status_of(code) == status
