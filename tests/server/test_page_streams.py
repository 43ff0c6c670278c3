"""The web page, in Chromium, with streams that a real run gives rarely or never.

A stub plays the server's part, so that a test decides what the stream holds and when it goes on.
"""

import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

STATIC = Path(__file__).parents[2] / "graph_agent" / "server" / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
WAIT = 10.0
"""Seconds after which a stream that nobody lets go on ends by itself."""

Piece = bytes | threading.Event
"""Bytes to send at once, or a gate to wait at."""


@dataclass
class Stub:
    """What the server is to answer, and what it was asked."""

    run: list[Piece] = field(default_factory=list)
    """The stream that answers a question."""
    events: list[Piece] | None = None
    """The stream of `GET events`; None means that there is no such route."""
    busy: bool = False
    """Whether a question is refused because another run goes on."""
    asked: list[tuple[str, Any]] = field(default_factory=list)
    """Each request that changes something or reads events: its route, and its body or last id."""

    def reset(self) -> None:
        """Forget all of it."""
        vars(self).update(vars(Stub()))


def wire(event: str, number: int | None = None, **data: Any) -> bytes:
    """Encode an event as the server sends it."""
    head = f"id: {number}\n" if number else ""
    return f"event: {event}\n{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def call(status: str, **more: Any) -> bytes:
    """Encode the start or the end of a tool call."""
    named = {"type": "iteration", "status": status, "iteration": 1, "call_id": "c1"}
    tool = {"tool_name": "calculator", "tool_args": {"expression": "1234*5678"}}
    return wire("step", **{**named, **tool, **more})


def answer(text: str) -> list[bytes]:
    """Encode an answer that streams word by word."""
    deltas = [wire("answer", status="delta", content=word + " ") for word in text.split(" ")]
    return [wire("answer", status="start"), *deltas, wire("answer", status="done")]


def done(**more: Any) -> list[bytes]:
    """Encode the end of a run."""
    usage = {"input_tokens": 1204, "output_tokens": 88}
    facts = {"answer": "", "iterations": 2, "usage": usage, "elapsed": 3.42, "stop_reason": "final"}
    return [wire("done", **{**facts, **more}), wire("end")]


async def play(pieces: list[Piece]) -> AsyncIterator[bytes]:
    """Send the pieces, waiting at each gate until a test opens it."""
    for piece in pieces:
        if isinstance(piece, bytes):
            yield piece
        else:
            await anyio.to_thread.run_sync(piece.wait, WAIT)


def routes(stub: Stub) -> FastAPI:
    """Make the part of the server that the page talks to."""
    app = FastAPI()

    def stream(pieces: list[Piece]) -> Response:
        return StreamingResponse(play(pieces), media_type="text/event-stream")

    @app.get("/api/threads")
    async def list_threads() -> Response:
        return JSONResponse([])

    @app.post("/api/threads")
    async def create_thread() -> Response:
        return JSONResponse({"thread_id": "t1"}, 201)

    @app.get("/api/threads/{thread_id}/events")
    async def read_events(request: Request) -> Response:
        stub.asked.append(("events", request.headers.get("Last-Event-ID")))
        return JSONResponse({}, 404) if stub.events is None else stream(stub.events)

    @app.post("/api/threads/{thread_id}/{action}")
    async def act(action: str, request: Request) -> Response:
        stub.asked.append((action, json.loads(await request.body() or "null")))
        if action == "runs":
            return JSONResponse({"title": "Busy"}, 409) if stub.busy else stream(stub.run)
        return JSONResponse({"id": "i1", "status": "queued"}, 202)

    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, Stub]]:
    """Serve the page and the stub below `/agent`, so that an absolute address would miss."""
    stub = Stub()
    app = FastAPI()
    app.mount("/agent", routes(stub))

    @app.middleware("http")
    async def forbid_foreign_script(request: Request, call_next: Any) -> Response:
        response: Response = await call_next(request)
        response.headers["Content-Security-Policy"] = POLICY
        return response

    listener = socket.create_server(("127.0.0.1", 0))
    web = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none", lifespan="off"))
    thread = threading.Thread(target=web.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/agent/", stub
    web.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture
def stub(server: tuple[str, Stub]) -> Stub:
    server[1].reset()
    return server[1]


@pytest.fixture
def page(blank_page: Page, server: tuple[str, Stub], stub: Stub) -> Page:
    blank_page.goto(server[0])
    return blank_page


def ask(page: Page, text: str = "What is 1234*5678?") -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def test_a_failed_call_a_compaction_and_a_limit_are_told(page: Page, stub: Stub) -> None:
    stub.run = [
        *(call("start"), call("done", observation="No such number.", error=True)),
        wire("compact", original_messages=42, kept_messages=12),
        *done(answer="As far as it got.", stop_reason="max_iterations"),
    ]

    ask(page)

    expect(page.locator(".tool")).to_have_attribute("data-state", "failed")
    expect(page.locator(".divider")).to_have_text(
        "Context compacted: 42 messages became 12 messages"
    )
    expect(page.locator(".answer")).to_have_text("As far as it got.")
    expect(page.locator(".stopped")).to_have_text("Stopped at the step limit")


def test_a_reset_replaces_what_was_streamed(page: Page, stub: Stub) -> None:
    first, *_ = answer("")
    stub.run = [
        first,
        wire("answer", status="delta", content="Half a sen"),
        wire("answer", status="reset"),
        wire("answer", status="delta", content="The whole sentence."),
        *done(),
    ]

    ask(page)

    expect(page.locator(".facts")).to_be_visible()
    expect(page.locator(".answer")).to_have_text("The whole sentence.")


ATTACK = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    "<svg onload='window.hacked = 3'></svg><a href='javascript:window.hacked = 4'>press</a>"
    "<div class='alert' id='send' style='color: red'>forged</div><iframe src='/'></iframe>"
    "<form action='/'><button>go</button></form>\n\n[press](javascript:window.hacked=5) "
    "![cat](https://elsewhere.example/cat.png) end"
)


def test_script_in_untrusted_text_does_not_run(page: Page, stub: Stub) -> None:
    stub.run = [
        call("start", tool_name=ATTACK, tool_args={"text": ATTACK}),
        call("done", observation=ATTACK, error=None, iter_elapsed=0.1),
        wire("step", type="thinking", status="done", iteration=1, reasoning=ATTACK),
        *(wire("inject", content=ATTACK, ids=[]), *answer(ATTACK)),
        *done(),
    ]

    ask(page, ATTACK)

    expect(page.locator(".facts")).to_be_visible()
    expect(page.locator(".tool pre").last).to_have_text(ATTACK)
    expect(page.locator(".answer")).to_contain_text("forged")
    expect(page.locator(".answer").get_by_role("link")).to_have_text("cat")
    expect(page.locator(".answer").get_by_role("link")).to_have_attribute(
        "rel", "noopener noreferrer"
    )
    forbidden = "script, img, svg, iframe, form, [style], [id], [onerror], .alert"
    assert page.locator("#turns").locator(forbidden).count() == 0
    assert page.evaluate("window.hacked") is None


def test_nothing_scrolls_sideways_on_a_narrow_screen(page: Page, stub: Stub) -> None:
    word = "unbreakable" * 30
    table = f"| a | {word} |\n|---|---|\n| {'wide ' * 30} | `{word}` |"
    page.set_viewport_size({"width": 375, "height": 700})
    stub.run = [
        call("start", tool_name=word, tool_args={word: word}),
        call("done", observation=word, error=None, iter_elapsed=61),
        *answer(f"{word}\n\n# {word}\n\n{table}\n\n```\n{word} {word}\n```\n\n- {word}\n"),
        *done(stop_reason="max_iterations"),
    ]

    ask(page, word)
    page.locator(".tool > summary").click()

    expect(page.locator(".facts")).to_be_visible()
    expect(page.locator(".tool pre").last).to_be_visible()
    widths = "[document.documentElement, document.querySelector('main')].map(e => e.scrollWidth)"
    assert max(page.evaluate(widths)) <= 375


def test_a_busy_thread_is_told_and_the_text_kept(page: Page, stub: Stub) -> None:
    stub.busy = True

    ask(page, "Me too")

    expect(page.locator("#notice")).to_contain_text("busy with another run")
    expect(page.get_by_label("Message", exact=True)).to_have_value("Me too")
    expect(page.locator(".turn")).to_have_count(0)


def test_a_lost_connection_is_taken_up_after_the_last_event(page: Page, stub: Stub) -> None:
    stub.run = [
        wire("answer", 6, status="start"),
        wire("answer", 7, status="delta", content="Now "),
    ]
    stub.events = [wire("answer", 8, status="delta", content="whole."), *done()]

    ask(page)
    expect(page.get_by_role("alert")).to_contain_text("The connection to the server was lost.")
    page.get_by_role("button", name="Reconnect").click()

    expect(page.locator(".facts")).to_be_visible()
    expect(page.locator(".answer")).to_have_text("Now whole.")
    assert stub.asked[1:] == [("events", "7")]


def test_a_run_that_the_server_forgot_is_told(page: Page, stub: Stub) -> None:
    stub.run = [wire("answer", 7, status="start")]

    ask(page)
    page.get_by_role("button", name="Reconnect").click()

    expect(page.get_by_role("alert")).to_contain_text("no events of this run any more")
    expect(page.locator("#stop")).to_be_hidden()


def test_events_survive_every_cut_of_the_stream(page: Page) -> None:
    text = (
        "\ufeff: hello\r\nid: 1\revent: step\ndata: 한국어 🙂\ndata:  two\r\n\r\n"
        "data\n\nevent: lost\n\nid: 2\ndata: {}\r\rdata: cut off"
    )
    read = """async ([bytes, size]) => {
        const { readEvents } = await import("./sse.js");
        const chunks = [];
        for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.slice(i, i + size));
        const body = new ReadableStream({
            pull: (controller) => chunks.length
                ? controller.enqueue(new Uint8Array(chunks.shift())) : controller.close(),
        });
        const events = [];
        for await (const { event, data, id } of readEvents(body)) events.push([event, data, id]);
        return events;
    }"""
    raw = list(text.encode())

    readings = [page.evaluate(read, [raw, size]) for size in range(1, len(raw) + 1)]

    expected = [["step", "한국어 🙂\n two", "1"], ["message", "", "1"], ["message", "{}", "2"]]
    assert readings == [expected] * len(raw)


def test_a_word_cut_in_the_middle_of_a_letter_is_drawn_whole(page: Page, stub: Stub) -> None:
    gate = threading.Event()
    delta = wire("answer", status="delta", content="서울은 밤이에요.")
    cut = delta.index("울".encode()) + 1
    stub.run = [call("start"), delta[:cut], gate, delta[cut:], *done()]

    ask(page)
    expect(page.locator(".tool")).to_be_visible()
    gate.set()

    expect(page.locator(".answer")).to_have_text("서울은 밤이에요.")
