"""A model whose endpoint has a window of its own, whatever the config says of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import pytest

from graph_agent.prompts import SELECT_TOOLS, SUMMARIZE, SYNTHESIS_SYSTEM
from graph_agent.testing import HttpError

Purpose = Literal["loop", "selection", "summary", "synthesis"]
OVERFLOW = HttpError(status=400, message="Too long.", code="context_length_exceeded")


@dataclass
class Asked:
    """One request: what for, how long it was, and whether it was refused for that."""

    purpose: Purpose
    tokens: int
    refused: bool
    body: dict[str, Any]
    replies: int
    """Replies of the loop before it."""

    @property
    def text(self) -> str:
        return json.dumps(self.body["messages"], ensure_ascii=False)


@dataclass
class Windowed:
    """Gives a loop's replies in order, and refuses what is over its window."""

    replies: list[Any]
    window: float
    """Tokens a prompt may take."""
    count: Callable[[dict[str, Any]], int]
    """Counts a request's tokens."""
    overflow: HttpError = OVERFLOW
    """Answers what is longer."""
    selection: Any = "All of them."
    summary: Any = "Pages were read."
    synthesis: Any = "The answer."
    asked: list[Asked] = field(default_factory=list)
    _given: int = 0

    async def __call__(self, body: dict[str, Any]) -> Any:
        tokens, purpose = self.count(body), _purpose(body)
        refused = tokens > self.window
        self.asked.append(Asked(purpose, tokens, refused, body, self._given))
        if refused:
            return self.overflow
        if purpose != "loop":
            return _counted(getattr(self, purpose), tokens)
        self._given += 1
        return _counted(self.replies[self._given - 1], tokens)

    def of(self, purpose: Purpose) -> list[Asked]:
        return [asked for asked in self.asked if asked.purpose == purpose]

    @property
    def refused(self) -> list[tuple[Purpose, int]]:
        """What for, and before which reply of the loop, a request was too long."""
        return [(asked.purpose, asked.replies) for asked in self.asked if asked.refused]


def _counted(reply: Any, tokens: int) -> Any:
    """Let the usage of a reply tell the tokens that the window is held to."""
    message = {"content": reply} if isinstance(reply, str) else reply
    if not isinstance(message, dict):
        return reply
    return message | {"usage": {"prompt_tokens": tokens}}


def _purpose(body: dict[str, Any]) -> Purpose:
    system = body["messages"][0]["content"]
    if system.startswith(SELECT_TOOLS.split(":")[0]):
        return "selection"
    if system in SUMMARIZE.values():
        return "summary"
    return "synthesis" if system == SYNTHESIS_SYSTEM else "loop"


@pytest.fixture(scope="session")
def windowed(true_tokens: Callable[[dict[str, Any]], int]) -> Callable[..., Windowed]:
    """Make a model from a loop's replies and its true window."""
    return partial(Windowed, count=true_tokens)


LINE = "Whoever misses the morning train has to wait for an hour on platform four.\n"


@pytest.fixture(scope="session")
def reader() -> Callable[[int], Callable[[int], str]]:
    """Make a tool whose results have so many lines, of 16 tokens each."""

    def of(lines: int) -> Callable[[int], str]:
        def read(page: int) -> str:
            """Read a page.

            Args:
                page: Its number.
            """
            return f"{page} {LINE * lines}"

        return read

    return of


@pytest.fixture
def read_calls(speech: Any) -> Callable[[int], list[Any]]:
    """Make the replies that read so many pages, one each."""

    def of(pages: int) -> list[Any]:
        return [speech.calls(("read", {"page": page})) for page in range(1, pages + 1)]

    return of
