"""Replies made from valid ones by cutting, wrapping, doubling and re-encoding harm nobody.

`HYPOTHESIS_PROFILE=full` tries 2,000 replies instead of 300; the same ones every time.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_agent import build_graph
from graph_agent.models.reply import read_reply
from graph_agent.protocols.calls_as_text import is_raw_call
from graph_agent.testing import ScriptedChatModel

EXAMPLES = 1_000 if os.environ.get("HYPOTHESIS_PROFILE") == "full" else 150
"""Of each of the two modes."""
DONE = '{"type": "final_answer", "answer": "done"}'
TEXTS = [
    "rain",
    "what's new",
    "a}b{",
    'say "hi"',
    "line 1\nline 2\t",
    "https://x.test/a#b // c",
    "서울 🙂",
    r"\frac{1}{2} \(x\)",
    "<think>x</think>",
    "```json\n{}\n```",
    "True",
    "12",
    "",
]
Edit = Callable[[str], str]


@dataclass
class Tools:
    """Two tools, and what they were given."""

    ran: list[dict[str, Any]] = field(default_factory=list)

    def save(self, path: str, content: str) -> str:
        """Save a text.

        Args:
            path: Where.
            content: What.
        """
        self.ran.append({"path": path, "content": content})
        return "saved"

    def count(self, n: int, tags: list[str], exact: bool = False) -> str:
        """Count.

        Args:
            n: From where.
            tags: Of what.
            exact: Whether to be exact.
        """
        self.ran.append({"n": n, "tags": tags} | ({"exact": exact} if exact else {}))
        return "counted"


texts = st.sampled_from(TEXTS) | st.text(max_size=8)
calls = st.tuples(
    st.just("save"), st.fixed_dictionaries({"path": texts, "content": texts})
) | st.tuples(
    st.just("count"),
    st.fixed_dictionaries(
        {"n": st.integers(100, 10**7), "tags": st.lists(texts, max_size=2)},
        optional={"exact": st.booleans()},
    ),
)


def cut(share: float) -> Edit:
    return lambda text: text[: int(len(text) * share)]


def without(start: float, length: int) -> Edit:
    return lambda text: text[: int(len(text) * start)] + text[int(len(text) * start) + length :]


def doubled(start: float, length: int) -> Edit:
    def edit(text: str) -> str:
        at = int(len(text) * start)
        return text[: at + length] + text[at:]

    return edit


def with_piece(start: float, piece: str) -> Edit:
    return lambda text: text[: int(len(text) * start)] + piece + text[int(len(text) * start) :]


def as_python(text: str) -> str:
    try:
        return repr(json.loads(text))
    except ValueError:
        return text


shares = st.floats(0, 1)
edits: st.SearchStrategy[Edit] = st.one_of(
    st.builds(cut, shares),
    st.builds(without, shares, st.integers(1, 12)),
    st.builds(doubled, shares, st.integers(1, 12)),
    st.builds(
        with_piece, shares, st.sampled_from([*"{}[]\"',:\\\n", "<think>", "</think>", "```"])
    ),
    st.sampled_from(
        [
            as_python,
            json.dumps,
            lambda text: text.replace("}", ",}"),
            lambda text: text.replace('"', "'"),
            lambda text: text.replace('"', r"\""),
            lambda text: text.replace("\\n", "\n"),
            lambda text: text.replace(":", ": // so\n"),
            lambda text: f"{text}\n{text}",
            lambda text: f"```json\n{text}\n```",
            lambda text: f"Let me see {{it}}: {text} Right?",
            lambda text: f"<tool_call>{text}</tool_call>",
            lambda text: f"<think>It's {text}</think>\n{text}",
            lambda text: f"<think>{text}",
            lambda text: f"[{text}, {text}]",
        ]
    ),
)


def edited(text: str, some: list[Edit]) -> str:
    for edit in some:
        text = edit(text)
    return text


spellings = st.sampled_from(
    [
        lambda name, args: {"type": "tool_call", "tool": name, "args": args},
        lambda name, args: {"name": name, "arguments": args},
        lambda name, args: {"name": name, "parameters": json.dumps(args)},
        lambda name, args: {"action": name, "action_input": args},
        lambda name, args: {"function": {"name": name, "arguments": json.dumps(args)}},
    ]
)


@st.composite
def as_text(draw: st.DrawFn) -> dict[str, Any]:
    """A message whose text holds calls or an answer."""
    parts = [
        json.dumps(draw(spellings)(*call), ensure_ascii=draw(st.booleans()))
        for call in draw(st.lists(calls, max_size=2))
    ]
    text = "\n".join(parts or [DONE.replace("done", "early")])
    return {"content": edited(text, draw(st.lists(edits, max_size=3)))}


@st.composite
def by_the_api(draw: st.DrawFn) -> dict[str, Any]:
    """A message with calls whose arguments, names and ids are peculiar."""
    prefix = st.sampled_from(["", "", "functions.", "no."])
    wire = [
        {
            "id": draw(st.sampled_from(["1", "2", "", None])),
            "function": {
                "name": draw(prefix) + name,
                "arguments": edited(json.dumps(args), draw(st.lists(edits, max_size=2))),
            },
        }
        for name, args in draw(st.lists(calls, min_size=1, max_size=3))
    ]
    return {"content": draw(st.sampled_from(["", None, "I see."])), "tool_calls": wire}


@st.composite
def bodies(draw: st.DrawFn, message: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    """A chat completion, mostly a whole one."""
    reason = draw(st.sampled_from(["stop", "stop", "tool_calls", None, "length"]))
    return {"choices": [{"message": draw(message), "finish_reason": reason}]}


def run(
    body: dict[str, Any], times: int, *, native: bool
) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return the events of a run that begins with such replies, and what the tools were given."""
    tools = Tools()
    replies = [read_reply(body) for _ in range(times)]
    model = ScriptedChatModel(replies=[*replies, *[DONE] * 9], tool_calling=native)
    graph = build_graph(
        model, [tools.save, tools.count], synthesis="never", database="memory:", max_iterations=9
    )
    return list(graph.stream({"messages": [("user", "q")]}, stream_mode="custom")), tools.ran


@pytest.mark.parametrize("native", [True, False], ids=["native", "json"])
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_reply_breaks_a_run_or_makes_arguments_up(data: st.DataObject, *, native: bool) -> None:
    message = as_text() | by_the_api() if native else as_text()
    body = data.draw(bodies(message))

    times = data.draw(st.sampled_from([1, 3]))

    events, ran = run(body, times, native=native)

    assert [event["event"] for event in events][-2:] == ["done", "end"]
    assert not is_raw_call(events[-2]["data"]["answer"])
    [choice] = body["choices"]
    assert not ran or choice["finish_reason"] != "length"
    said = list(written_in(choice["message"]))
    for args in ran:
        assert [part for part in leaves(args) if not any(map(part.within, said))] == []


@dataclass(frozen=True)
class Leaf:
    """A name or a value that a tool was given."""

    value: str | int | bool

    def within(self, text: str) -> bool:
        """Whether a text holds it as a whole: between quotes, or as a number or a word."""
        if isinstance(self.value, str) and self.value in quoted(text):
            return True
        word = json.dumps(self.value, ensure_ascii=False).strip('"')
        return (
            re.search(rf"(?<!\w){re.escape(word)}(?=[^\w.]|\.0)", text, re.IGNORECASE) is not None
        )


def leaves(value: Any) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield Leaf(name)
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield Leaf(value)


def written_in(message: dict[str, Any]) -> Iterator[str]:
    """The texts of a message, each as it is and with one and two levels of escapes undone."""
    arguments = [call["function"]["arguments"] for call in message.get("tool_calls", [])]
    for text in [message["content"] or "", *arguments]:
        yield text
        yield (once := unescaped(text))
        yield unescaped(once)


def unescaped(text: str) -> str:
    """Undo escapes as JSON and Python have them; a backslash that escapes nothing stays."""
    plain = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
    once = re.sub(
        r"\\(?:(u[0-9a-fA-F]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4}|x[0-9a-f]{2})|([\\/\"'bfnrt]))",
        lambda m: chr(int(m[1][1:], 16)) if m[1] else plain.get(m[2], m[2]),
        text,
    )
    # Joins the halves of a character that were escaped one by one.
    return once.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def quoted(text: str) -> set[str]:
    """All that stands between any two quotes, cleaned as a thread keeps it."""
    places = [index for index, letter in enumerate(text) if letter in "\"'"]
    between = (text[start + 1 : end] for start, end in combinations(places, 2))
    return {
        piece.encode("utf-8", "replace").decode().replace("\x00", "\ufffd") for piece in between
    }
