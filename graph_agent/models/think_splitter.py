"""Takes think blocks off the front of a text that comes in pieces."""

import re
from collections.abc import Iterator
from typing import NamedTuple

TAGS = ("think", "thinking")
OPENING = re.compile(rf"<({'|'.join(TAGS)})>", re.IGNORECASE)
CLOSING = re.compile(rf"</({'|'.join(TAGS)})>", re.IGNORECASE)
LONGEST_TAG = max(len(f"</{tag}>") for tag in TAGS)


class Parts(NamedTuple):
    """A text, taken apart."""

    reasoning: str
    text: str


class ThinkSplitter:
    """Takes the think blocks at the front of a text off, piece by piece, wherever it is cut."""

    def __init__(self, *, begins_thinking: bool = False) -> None:
        """Begin a text.

        Args:
            begins_thinking: The opening tag may be missing. The text is then held back until the
                closing one comes, or the end.
        """
        self._held = ""
        self._thinking = False
        self._saying = False
        self._thought = False
        self._awaited = begins_thinking

    @property
    def open(self) -> bool:
        """Whether a think block is open."""
        return self._thinking

    def feed(self, piece: str) -> Parts:
        """Return what the piece adds to the reasoning and to the text."""
        if self._saying:
            return Parts("", piece)
        self._held += piece
        parts = list(self._take())
        return Parts("".join(p.reasoning for p in parts), "".join(p.text for p in parts))

    def end(self) -> Parts:
        """Return what was held back: a tag that did not come true is text like any other."""
        held, self._held = self._held, ""
        if self._thinking:
            return Parts(held, "")
        return Parts("", held.lstrip() if self._thought else held)

    def _take(self) -> Iterator[Parts]:
        """Take as much of what is held as is decided."""
        while not self._saying:
            part = self._thoughts() if self._thinking else self._front()
            if part is None:
                return
            yield part

    def _thoughts(self) -> Parts | None:
        """Take reasoning up to the closing tag, or up to what may become one."""
        if closing := CLOSING.search(self._held):
            thought, self._held = self._held[: closing.start()], self._held[closing.end() :]
            self._thinking, self._thought = False, True
            return Parts(thought, "")
        cut = _tag_start(self._held)
        thought, self._held = self._held[:cut], self._held[cut:]
        return Parts(thought, "") if thought else None

    def _front(self) -> Parts | None:
        """Find out whether the text begins with a think block."""
        front = self._held.lstrip()
        if opening := OPENING.match(front):
            self._held, self._thinking, self._awaited = front[opening.end() :], True, False
            return Parts("", "")
        if _may_be_opening(front):
            return None
        if self._awaited:
            if not CLOSING.search(self._held):
                return None
            self._thinking, self._awaited = True, False
            return Parts("", "")
        self._saying = True
        said, self._held = (front if self._thought else self._held), ""
        return Parts("", said)


def _may_be_opening(front: str) -> bool:
    return any(f"<{tag}>".startswith(front.lower()) for tag in TAGS)


def _tag_start(text: str) -> int:
    """Return where a closing tag may begin that the next piece completes."""
    at = text.rfind("<", max(0, len(text) - LONGEST_TAG))
    tail = text[at:].lower()
    is_tag = at >= 0 and any(f"</{tag}>".startswith(tail) for tag in TAGS)
    return at if is_tag else len(text)
