"""The web page, in Chromium, with the real app, an agent and a strict endpoint behind it."""

import re
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Page, expect

from graph_agent import ModelRegistry, ReActAgent, Settings
from graph_agent.models.spec import ModelSpec
from graph_agent.server.app import create_app
from graph_agent.testing import Deltas, Gate, Held, HttpError, StrictEndpoint
from graph_agent.testing.replies import Reply
from graph_agent.tools.registry import Tool

pytestmark = pytest.mark.browser

QUESTION = "What is 1234*5678?"


@dataclass
class Site:
    """The page's address, and what stands behind it."""

    url: str
    endpoint: StrictEndpoint


SetUp = Callable[..., Site]


@pytest.fixture
def set_up(blank_page: Page) -> Iterator[SetUp]:
    """Serve agents and open the page; the server goes when the page has gone."""
    with ExitStack() as up:

        def set_one(replies: Iterable[Reply], tools: Iterable[Tool] = ()) -> Site:
            endpoint = up.enter_context(StrictEndpoint(replies))
            spec = ModelSpec(model="fake", base_url=endpoint.base_url)
            settings: dict[str, Any] = {"database": "memory:", "max_retries": 0}
            models = ModelRegistry({"fake": spec}, settings=Settings(**settings), environ={})
            agent = ReActAgent("fake", tools, models=models, **settings)
            site = Site(up.enter_context(_served(agent)), endpoint)
            blank_page.goto(site.url)
            return site

        yield set_one
        blank_page.close()


@contextmanager
def _served(agent: ReActAgent) -> Iterator[str]:
    """Serve the app below `/agent`, so that an absolute address would miss."""
    inner = create_app(agent=agent)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with inner.router.lifespan_context(inner):
            yield

    app = FastAPI(lifespan=lifespan)
    app.mount("/agent", inner)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/agent/"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def ask(page: Page, text: str = QUESTION) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def calls(name: str, content: str = "", **arguments: Any) -> dict[str, Any]:
    """A reply that calls one tool."""
    call = {"id": "c1", "name": name, "arguments": arguments}
    return {"content": content, "tool_calls": [call]}


class Calculator:
    """A tool that waits until the test lets it go."""

    def __init__(self) -> None:
        self.leave = threading.Event()

    def calculator(self, expression: str) -> str:
        """Calculate.

        Args:
            expression: What to calculate.
        """
        assert self.leave.wait(10)
        return "7006652"


def test_a_run_is_drawn_as_it_comes(blank_page: Page, set_up: SetUp) -> None:
    page, complaints = blank_page, []
    page.on("console", lambda line: complaints.append(line.text))
    tool, answering = Calculator(), Gate()
    answer = Deltas([{"content": "The product "}, answering, {"content": "is **7,006,652**."}])
    replies = [calls("calculator", "Exact, please.", expression="1234*5678"), "draft", answer]
    set_up(replies, [tool.calculator])
    card = page.locator(".tool")

    ask(page)

    expect(page.locator(".question")).to_contain_text(QUESTION)
    expect(page.locator(".reasoning")).to_have_text("Exact, please.")
    expect(card).to_have_attribute("data-state", "running")
    expect(card.locator("pre")).to_have_text('{\n  "expression": "1234*5678"\n}')
    expect(card.locator("pre")).to_be_visible()
    tool.leave.set()
    expect(card).to_have_attribute("data-state", "done")
    expect(card.locator("pre").last).to_be_hidden()
    expect(card.locator("summary")).to_contain_text("7006652")
    expect(card.locator(".seconds")).to_have_text(re.compile(r"^\d+(\.\d+)? m?s$"))
    expect(page.locator(".answer")).to_have_text("The product")
    answering.open()
    expect(page.locator(".answer strong")).to_have_text("7,006,652")
    steps, tokens, out, seconds = page.locator(".facts li").all_text_contents()
    assert steps == "2 steps"
    assert re.fullmatch(r"[\d,]+ tokens in", tokens)
    assert re.fullmatch(r"[\d,]+ out", out)
    assert re.fullmatch(r"\d+(\.\d+)? m?s", seconds)
    assert "/agent/#thread=" in page.url
    assert complaints == []


def test_an_error_is_an_alert(blank_page: Page, set_up: SetUp) -> None:
    set_up([HttpError(status=503, message="Fell over.")])

    ask(blank_page)

    alert = blank_page.locator(".turn").get_by_role("alert")
    expect(alert).to_contain_text("Fell over.")
    expect(blank_page.locator("#stop")).to_be_hidden()


def test_the_keyboard_is_enough(blank_page: Page, set_up: SetUp) -> None:
    page, tool = blank_page, Calculator()
    tool.leave.set()
    site = set_up([calls("calculator", expression="1"), "draft", "Done."], [tool.calculator])
    box = page.get_by_label("Message", exact=True)
    page.keyboard.press("Escape")

    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    expect(box).to_have_value("one\ntwo")
    page.keyboard.press("Enter")
    expect(page.locator(".facts")).to_be_visible()
    page.locator(".tool > summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".tool pre").last).to_be_visible()
    page.keyboard.press("Escape")

    expect(box).to_be_focused()
    expect(box).to_have_value("")
    assert site.endpoint.requests[0].body["messages"][-1]["content"] == "one\ntwo"


def test_an_example_question_is_asked_by_a_click(blank_page: Page, set_up: SetUp) -> None:
    site = set_up(["Late."])

    blank_page.get_by_role("button", name="What time is it in Seoul?").click()

    expect(blank_page.locator(".answer")).to_have_text("Late.")
    expect(blank_page.locator("#welcome")).to_be_hidden()
    asked = site.endpoint.requests[0].body["messages"][-1]["content"]
    assert asked == "What time is it in Seoul?"


def test_dark_mode_has_its_own_colours(blank_page: Page, set_up: SetUp) -> None:
    set_up([])
    colours = (
        "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))"
    )
    blank_page.emulate_media(color_scheme="light")
    light = blank_page.evaluate(colours)
    blank_page.emulate_media(color_scheme="dark")

    assert (light, blank_page.evaluate(colours)) == (
        ["rgb(31, 34, 38)", "rgb(250, 249, 247)"],
        ["rgb(233, 231, 226)", "rgb(20, 22, 25)"],
    )


def test_a_message_and_a_stop_reach_the_run_in_progress(blank_page: Page, set_up: SetUp) -> None:
    page, tool, gate = blank_page, Calculator(), Gate()
    replies = [calls("calculator", expression="1"), Held(gate, "never")]
    site = set_up(replies, [tool.calculator])
    ask(page)
    expect(page.locator(".tool")).to_be_visible()

    ask(page, "Only TOML.")
    expect(page.locator("#waiting")).to_contain_text("Waiting to be read")
    tool.leave.set()
    expect(page.locator(".turn .added-text")).to_have_text("Only TOML.")
    expect(page.locator("#waiting")).to_be_empty()
    gate.wait_reached()
    page.get_by_role("button", name="Stop").click()

    alert = page.locator(".turn").get_by_role("alert")
    expect(alert).to_have_text("The run was cancelled. The thread can go on.")
    expect(page.locator("#stop")).to_be_hidden()
    gate.open()
    site.endpoint.reply("Here.")
    ask(page, "Still there?")
    expect(page.locator(".answer")).to_have_text("Here.")
    assert "Only TOML." in site.endpoint.requests[1].body["messages"][-1]["content"]
    assert site.endpoint.rejected == []


def test_a_message_is_taken_back(blank_page: Page, set_up: SetUp) -> None:
    page, gate = blank_page, Gate()
    site = set_up([Held(gate, "Answer.")])
    ask(page)
    gate.wait_reached()

    ask(page, "Oh no.")
    page.get_by_role("button", name="Take back").click()

    expect(page.get_by_label("Message", exact=True)).to_have_value("Oh no.")
    expect(page.locator("#waiting")).to_be_empty()
    gate.open()
    expect(page.locator(".answer")).to_have_text("Answer.")
    assert len(site.endpoint.requests) == 1


def test_the_threads_are_a_drawer_on_a_narrow_screen(blank_page: Page, set_up: SetUp) -> None:
    page = blank_page
    set_up(["Answer."])
    ask(page, "An earlier question")
    expect(page.locator(".facts")).to_be_visible()
    page.set_viewport_size({"width": 375, "height": 700})
    drawer = page.get_by_label("Threads", exact=True).and_(page.locator("aside"))
    expect(drawer).to_be_hidden()

    page.get_by_role("button", name="Threads", exact=True).click()
    expect(drawer.get_by_role("link", name="An earlier question")).to_be_visible()
    page.keyboard.press("Escape")

    expect(drawer).to_be_hidden()
    expect(page.get_by_role("button", name="Threads", exact=True)).to_be_focused()


def test_a_stored_thread_is_drawn_and_its_run_joined(blank_page: Page, set_up: SetUp) -> None:
    page, tool, gate = blank_page, Calculator(), Gate()
    streamed = Deltas([{"content": "Here "}, gate, {"content": "I am."}])
    second = [calls("calculator", expression="2"), "draft", streamed]
    replies = [calls("calculator", expression="1"), "draft", "**Seven million** and some.", *second]
    set_up(replies, [tool.calculator])
    ask(page)
    expect(page.locator(".tool")).to_be_visible()
    ask(page, "In words, too.")
    expect(page.locator("#waiting")).to_contain_text("Waiting to be read")
    tool.leave.set()
    expect(page.locator(".facts")).to_be_visible()
    ask(page, "And now?")
    expect(page.locator(".answer").last).to_have_text("Here")

    page.reload()

    expect(page.locator(".question")).to_contain_text([QUESTION, "And now?"])
    expect(page.locator(".answer")).to_have_text(["Seven million and some.", "Here"])
    gate.open()
    expect(page.locator(".answer").last).to_have_text("Here I am.")
    expect(page.locator(".facts")).to_be_visible()
    expect(page.locator(".tool summary").first).to_contain_text("7006652")
    expect(page.locator(".tool pre").first).to_be_hidden()
    expect(page.locator(".added-text")).to_have_text("In words, too.")
