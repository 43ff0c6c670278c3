"""The live view: what stays on the terminal, and what moves."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from graph_agent.cli.progress import LiveView
from graph_agent.cli.rendering import SHOWN_CHARS, Tail
from graph_agent.events import (
    AnswerDelta,
    AnswerDone,
    AnswerReset,
    AnswerSignal,
    AnswerStart,
    CallDone,
    CallStart,
    Compacted,
    Done,
    Event,
    Failed,
    Injected,
    SelectingTools,
    ThinkingDone,
    ThinkingStart,
)
from graph_agent.state import StopReason
from graph_agent.usage import no_usage

CALL: dict[str, Any] = {
    "iteration": 1,
    "call_id": "1",
    "tool_name": "search",
    "tool_args": {"text": "x" * 100},
}
ANSWER: list[Event] = [
    AnswerSignal(),
    AnswerStart(),
    AnswerDelta(content="wrong"),
    AnswerReset(),
    AnswerDelta(content="- ri"),
    AnswerDelta(content="ght"),
    AnswerDone(),
]


def done(stop_reason: StopReason) -> Done:
    usage = no_usage() | {"input_tokens": 1200, "output_tokens": 34}
    return Done(
        answer="right",
        iterations=1,
        usage=usage,
        elapsed=1.25,
        stop_reason=stop_reason,
        thread_id="t\x1b[1m",
        run_id="r",
    )


@pytest.fixture
def stay() -> Callable[..., list[str]]:
    """Shows events, and returns the lines that stay: none of what moves is written to a file."""

    def show(*events: Event, answers: bool = True) -> list[str]:
        console = Console(file=io.StringIO(), width=60, height=10)
        with LiveView(console, answers=answers) as view:
            for event in events:
                view.show(event.wire())
        assert isinstance(console.file, io.StringIO)
        return [line.rstrip() for line in console.file.getvalue().splitlines() if line.strip()]

    return show


def test_a_call_stays_on_one_line(stay: Callable[..., list[str]]) -> None:
    ended = {"iter_elapsed": 0.125, "artifacts": []}

    lines = stay(
        ThinkingStart(iteration=1),
        ThinkingDone(iteration=1, reasoning=""),
        CallStart(**CALL),
        CallDone(**CALL, **ended, observation="found", error=False),
        CallDone(**CALL, **ended, observation=f"not\n\x1b[31m{'y' * 100}", error=True),
    )

    label = f'search(text="{"x" * 30}…'
    assert lines == [
        f"✓ {label} 0.12 s",
        f"✗ {label} 0.12 s",
        f"  not ␛[31m{'y' * 48}…",
    ]


def test_what_people_and_compaction_did_stays(stay: Callable[..., list[str]]) -> None:
    lines = stay(
        SelectingTools(total_tools=20),
        Injected(content="be\nbrief", ids=["1"]),
        Compacted(original_messages=9, kept_messages=4),
    )

    assert lines == ["» be brief", "compacted 9 messages to 4"]


@pytest.mark.parametrize(
    ("stop_reason", "prefix"),
    [("final", ""), ("max_iterations", "stopped: max_iterations · ")],
)
def test_the_last_answer_and_the_sum_stay(
    stay: Callable[..., list[str]], stop_reason: StopReason, prefix: str
) -> None:
    lines = stay(*ANSWER, done(stop_reason))

    assert lines == [
        " • right",
        f"{prefix}1 iteration · 1,234 tokens · 1.2 s",
        "thread t␛[1m",
    ]


def test_the_answer_is_left_to_stdout(stay: Callable[..., list[str]]) -> None:
    assert stay(*ANSWER, Failed(code="model", message="no"), answers=False) == []


def test_the_tail_of_a_growing_answer_fits_the_terminal() -> None:
    console = Console(file=io.StringIO(), width=40, height=6)
    numbers = "\n".join(f"line {number}" for number in range(SHOWN_CHARS))

    console.print(Tail(f"# Start\n\n```\n{numbers}"))

    assert isinstance(console.file, io.StringIO)
    shown = [line.strip() for line in console.file.getvalue().splitlines() if line.strip()]
    # A code block's lines stay lines, although its beginning is not drawn any more.
    assert shown == [f"line {SHOWN_CHARS - left}" for left in (3, 2, 1)]
