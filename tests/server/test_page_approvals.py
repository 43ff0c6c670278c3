"""Calls that wait for a person, in Chromium, with the real app behind the page."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import uvicorn
from langgraph.types import interrupt
from playwright.sync_api import Page, expect

from graph_agent import ModelRegistry, ReActAgent, Settings
from graph_agent.hooks import Allow, Ask, ToolUse, Verdict
from graph_agent.models.spec import ModelSpec
from graph_agent.server.app import create_app
from graph_agent.testing import StrictEndpoint
from graph_agent.testing.replies import Reply

pytestmark = pytest.mark.browser

WAITING = "Waiting for approval: send"


@dataclass
class Post:
    """A tool that sends, what it has sent, and the endpoint that calls it."""

    endpoint: StrictEndpoint
    sent: list[str] = field(default_factory=list)

    def send(self, to: str) -> str:
        """Send a mail.

        Args:
            to: Whom.
        """
        self.sent.append(to)
        return f"sent to {to}"

    def pay(self) -> str:
        """Pay, once a person says how."""
        return f"paid: {interrupt({'amount': 3})}"

    def results(self) -> list[str]:
        """What the model was told of its calls, last."""
        messages = self.endpoint.requests[-1].body["messages"]
        return [message["content"] for message in messages if message["role"] == "tool"]


SetUp = Callable[..., Post]


@pytest.fixture
def set_up(blank_page: Page) -> Iterator[SetUp]:
    """Serve agents that ask about every call, and open the page."""
    with ExitStack() as up:

        def set_one(replies: Iterable[Reply]) -> Post:
            post = Post(up.enter_context(StrictEndpoint(replies)))
            spec = ModelSpec(model="fake", base_url=post.endpoint.base_url)
            settings: dict[str, Any] = {
                "database": "memory:",
                "max_retries": 0,
                "synthesis": "never",
            }
            models = ModelRegistry({"fake": spec}, settings=Settings(**settings), environ={})
            agent = ReActAgent(
                "fake", [post.send, post.pay], models=models, pre_tool_use=_asks, **settings
            )
            blank_page.goto(up.enter_context(_served(agent)))
            return post

        yield set_one
        blank_page.close()


def _asks(use: ToolUse) -> Verdict:
    return Ask() if use.tool_name == "send" else Allow()


@contextmanager
def _served(agent: ReActAgent) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(create_app(agent=agent), log_level="critical", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def calls(*to: str) -> dict[str, Any]:
    """A reply that sends to some."""
    return {
        "content": "",
        "tool_calls": [
            {"id": f"c-{name}", "name": "send", "arguments": {"to": name}} for name in to
        ],
    }


def ask(page: Page, text: str = "Write to them") -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def press(page: Page, words: str, card: int = 0) -> None:
    """Press a button of a card."""
    section = page.get_by_role("region", name="Approval of send").nth(card)
    section.get_by_role("button", name=f"{words}: send", exact=True).click()


def titles(page: Page, *texts: str) -> None:
    """Expect that the cards say this, in order."""
    expect(page.locator(".approval h3")).to_have_text([*texts])


def denied(why: str = "") -> str:
    return f"The call was not run: a person denied it{why}. Go on without it."


def test_calls_are_decided_one_by_one_and_sent_together(blank_page: Page, set_up: SetUp) -> None:
    page, complaints = blank_page, []
    page.on("console", lambda line: complaints.append(line.text))
    post = set_up([calls("Ann", "Bob", "Eve"), "Some were told."])
    ask(page)
    titles(page, WAITING, WAITING, WAITING)
    expect(page.locator("#stop")).to_be_hidden()

    press(page, "Deny", card=1)
    press(page, "Deny with a reason", card=2)
    page.get_by_role("textbox", name="Reason: send").last.fill("she <b>left</b>")
    page.keyboard.press("Enter")
    titles(page, WAITING, "Denied: send", "Denied: send")
    before = list(post.sent)
    press(page, "Allow")

    expect(page.locator(".facts")).to_be_visible()
    titles(page, "Allowed: send", "Denied: send", "Denied: send")
    expect(page.locator(".approval-note").last).to_have_text("she <b>left</b>")
    expect(page.locator(".turn")).to_have_count(1)
    expect(page.locator(".turn .answer")).to_have_text("Some were told.")
    expect(page.locator(".tool")).to_have_count(3)
    assert (before, post.sent) == ([], ["Ann"])
    assert post.results() == ["sent to Ann", denied(), denied(": she <b>left</b>")]
    assert (post.endpoint.rejected, complaints) == ([], [])


def test_a_decision_may_be_changed_until_all_are_made(blank_page: Page, set_up: SetUp) -> None:
    page = blank_page
    post = set_up([calls("Ann", "Bob"), "Bob was told."])
    ask(page)

    press(page, "Allow")
    press(page, "Change the decision")
    titles(page, WAITING, WAITING)
    press(page, "Deny")
    press(page, "Allow", card=1)

    expect(page.locator(".answer")).to_have_text("Bob was told.")
    assert post.sent == ["Bob"]


def test_the_keyboard_is_enough(blank_page: Page, set_up: SetUp) -> None:
    page = blank_page
    post = set_up([calls("Ann", "Bob"), "Done."])
    ask(page)
    button = page.get_by_role("button", name="Allow: send")

    button.first.focus()
    page.keyboard.press("Enter")
    expect(button.last).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.type("not him")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Deny with a reason: send")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")

    expect(page.locator(".answer")).to_have_text("Done.")
    assert post.results() == ["sent to Ann", denied(": not him")]


def test_cards_are_there_again_after_a_reload(blank_page: Page, set_up: SetUp) -> None:
    page = blank_page
    post = set_up([calls("Ann"), calls("Bob"), "Both were told."])
    ask(page)
    press(page, "Allow")
    titles(page, "Allowed: send", WAITING)

    page.reload()

    titles(page, WAITING)
    expect(page.locator(".approval pre")).to_have_text('{\n  "to": "Bob"\n}')
    expect(page.locator(".tool")).to_have_count(1)
    press(page, "Allow")
    expect(page.locator(".answer")).to_have_text("Both were told.")
    expect(page.locator(".turn")).to_have_count(1)
    expect(page.locator(".tool")).to_have_count(2)
    assert post.sent == ["Ann", "Bob"]


def test_what_a_tool_asks_by_itself_gets_one_answer(blank_page: Page, set_up: SetUp) -> None:
    page = blank_page
    call = {"id": "p", "name": "pay", "arguments": {}}
    post = set_up([{"tool_calls": [call]}, "Paid."])
    ask(page)
    expect(page.locator("#stop")).to_be_hidden()

    page.reload()

    titles(page, "Waiting for approval: a tool that asks")
    expect(page.locator(".approval pre")).to_have_text('{\n  "amount": 3\n}')
    page.get_by_role("button", name="Allow: a tool that asks", exact=True).click()
    expect(page.locator(".answer")).to_have_text("Paid.")
    assert post.results() == ["paid: allow"]


def test_another_question_gives_the_calls_up(blank_page: Page, set_up: SetUp) -> None:
    page = blank_page
    post = set_up([calls("Ann", "Bob"), "As you like."])
    ask(page)
    press(page, "Allow")

    ask(page, "No, leave it")

    expect(page.locator(".answer")).to_have_text("As you like.")
    titles(page, "Given up: send", "Given up: send")
    notes = ["Another question was asked instead."] * 2
    expect(page.locator(".approval-note")).to_have_text(notes)
    expect(page.locator(".approval").get_by_role("button")).to_have_count(0)
    assert (post.sent, post.endpoint.rejected) == ([], [])


def test_cards_open_again_where_a_request_does_not_reach_the_server(
    blank_page: Page, set_up: SetUp
) -> None:
    page = blank_page
    post = set_up([calls("Ann"), "Told."])
    ask(page)
    titles(page, WAITING)
    for action in ("resume", "runs"):
        page.route(f"**/{action}", lambda route: route.abort())

    ask(page, "Another one")
    expect(page.locator("#notice")).to_contain_text("The server does not answer.")
    titles(page, WAITING)
    page.locator("#notice").evaluate("notice => notice.hidden = true")
    press(page, "Deny")
    expect(page.locator("#notice")).to_contain_text("The server does not answer.")
    titles(page, WAITING)
    page.unroute_all()
    press(page, "Allow")

    expect(page.locator(".answer")).to_have_text("Told.")
    expect(page.locator("#notice")).to_be_hidden()
    assert post.sent == ["Ann"]


def test_the_thread_is_read_again_where_somebody_was_faster(
    blank_page: Page, set_up: SetUp
) -> None:
    page = blank_page
    post = set_up([calls("Ann"), "Not told."])
    ask(page)
    titles(page, WAITING)
    address, thread = page.url.split("#thread=")
    url = f"{address}api/threads/{thread}/resume"
    httpx.post(url, json={"decisions": "deny"}, trust_env=False).raise_for_status()

    press(page, "Allow")

    expect(page.locator("#notice")).to_contain_text("waits for a decision")
    expect(page.locator(".answer")).to_have_text("Not told.")
    expect(page.locator(".approval")).to_have_count(0)
    assert post.sent == []


def test_untrusted_arguments_are_text_and_fit_a_narrow_screen(
    blank_page: Page, set_up: SetUp
) -> None:
    page = blank_page
    attack = f"<img src=x onerror='window.hacked = 1'> {'unbreakable' * 40}"
    set_up([calls(attack)])
    page.set_viewport_size({"width": 375, "height": 700})
    ask(page)

    press(page, "Deny with a reason")

    expect(page.get_by_role("textbox", name="Reason: send")).to_be_focused()
    expect(page.locator(".approval pre")).to_contain_text("<img src=x")
    widths = "[document.documentElement, document.querySelector('main')].map(e => e.scrollWidth)"
    assert max(page.evaluate(widths)) <= 375
    assert page.evaluate("window.hacked") is None
