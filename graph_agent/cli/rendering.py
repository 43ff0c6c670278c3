"""How the pieces of a run look on a terminal."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markdown import Markdown
from rich.segment import Segment
from rich.text import Text

from graph_agent.cli.safe_text import clean, one_line

SHOWN_CHARS = 8_000
"""Characters of a growing answer that are drawn again and again; more fit on no screen."""
CALL_ROOM = 16
"""Columns of a call's line that its mark and its seconds take."""
INDENT = 2
"""Columns before the reason why a call failed."""


@dataclass(frozen=True)
class Untrusted:
    """Something to render whose text may hold control characters, even after parsing it."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self.inner, options):
            yield Segment(clean(segment.text), segment.style)


@dataclass(frozen=True)
class Tail:
    """The end of an answer that still grows, as much of it as the terminal has lines."""

    answer: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        end = answer_markdown(_end_of(self.answer))
        lines = console.render_lines(end, options.update(height=None), pad=False)
        for line in lines[-max(1, console.height - 2) :]:
            yield from line
            yield Segment.line()


def answer_markdown(answer: str) -> Untrusted:
    """Render an answer; links show where they lead."""
    return Untrusted(Markdown(clean(answer), hyperlinks=False))


def call_line(data: dict[str, Any], *, width: int) -> Text:
    """Put a tool call on one line: name and arguments, and once it is done how it went.

    Args:
        data: The call's `step` event.
        width: Columns of the terminal.
    """
    label = _shortened(f"{data['tool_name']}({_arguments(data['tool_args'])})", width - CALL_ROOM)
    if data["status"] == "start":
        return Text(label)
    seconds = (f" {data['iter_elapsed']:.2f} s", "dim")
    if not data["error"]:
        return Text.assemble(("✓ ", "green"), label, seconds)
    reason = _shortened(data["observation"], width - INDENT)
    return Text.assemble(("✗ ", "red"), label, seconds, "\n", " " * INDENT, (reason, "dim"))


def waiting_call(call: Mapping[str, Any]) -> Text:
    """Show a call that waits for a person, with all of its arguments, for they are decided about.

    Args:
        call: One of `waiting_calls`.
    """
    name = one_line(call.get("tool_name", "a tool"))
    told = call["tool_args"] if "tool_args" in call else call["value"]
    shown = json.dumps(told, ensure_ascii=False, indent=INDENT, default=str)
    return Text.assemble(("⏸ ", "yellow"), (name, "bold"), " waits:\n", clean(shown))


def footer(data: dict[str, Any]) -> Text:
    """Sum a run up: its `done` event's data."""
    usage = data["usage"]
    parts = [
        _counted(data["iterations"], "iteration"),
        _counted(usage["input_tokens"] + usage["output_tokens"], "token"),
        f"{data['elapsed']:.1f} s",
    ]
    if data["stop_reason"] != "final":
        parts.insert(0, f"stopped: {data['stop_reason']}")
    # The id has a line of its own, for it is copied to go on with `--thread`.
    return Text(f"{' · '.join(parts)}\nthread {one_line(data['thread_id'])}", style="dim")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _arguments(args: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False, default=str)}"
        for name, value in args.items()
    )


def _shortened(text: str, length: int) -> str:
    """Clean a text, on one line of at most `length` characters."""
    line = one_line(text)
    return line if len(line) <= length else f"{line[: max(0, length - 1)]}…"


def _end_of(answer: str) -> str:
    """Cut a long answer at a line's start, and open again the code block that it is in."""
    if len(answer) <= SHOWN_CHARS:
        return answer
    start = answer.find("\n", len(answer) - SHOWN_CHARS) + 1
    start = start or len(answer) - SHOWN_CHARS
    fences = sum(line.lstrip().startswith("```") for line in answer[:start].splitlines())
    return ("```\n" if fences % 2 else "") + answer[start:]
