"""Writes a thread down as Markdown, for people; nothing in it can look like something else.

What people, models and tools wrote stands in block quotes and code fences, and leaves neither.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

import orjson
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from graph_agent.context.exchanges import exchanges
from graph_agent.models.images import words_of
from graph_agent.plain_text import cleaned
from graph_agent.prompts import USER_INTERRUPT
from graph_agent.state import is_question, marked
from graph_agent.threads.export import ExportedRun, ThreadContent

ARGUMENT_CHARS = 1_000
RESULT_CHARS = 2_000
"""Characters of a call's arguments and of its result that are shown."""
LINE_ENDS = re.compile(r"\r\n|\r|\n")
"""What ends a line in Markdown."""
SPECIAL = re.compile(r"([\\`*_\[\]<>~|&$])")


def as_markdown(content: ThreadContent) -> str:
    """Write down a thread: each run's question, tool calls, answer, and how it ended."""
    parts = [f"# {_escaped(content.title) or 'Untitled'}", _about(content)]
    if not content.runs:
        parts.append("Nothing was asked yet.")
    for number, run in enumerate(content.runs):
        parts += [f"## {number + 1}. Question", *_told(content.of_run(number)), _footer(run)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _about(content: ThreadContent) -> str:
    lines = [f"- Thread: {_code(content.thread_id)}"]
    if content.info:
        lines.append(f"- Begun: {_time(content.info.created_at)}")
        lines.append(f"- Last used: {_time(content.info.updated_at)}")
    return "\n".join(lines)


def _told(messages: Sequence[BaseMessage]) -> Iterator[str]:
    """Tell what a person saw of a run, calls that follow one another folded into one list."""
    pieces = [piece.messages for piece in exchanges(messages)]
    for calling, group in groupby(pieces, _is_calling):
        if calling:
            yield _folded([*group])
        else:
            yield from (text for (message,) in group if (text := _said(message)))


def _is_calling(piece: Sequence[BaseMessage]) -> bool:
    return isinstance(piece[0], AIMessage) and bool(piece[0].tool_calls)


def _said(message: BaseMessage) -> str:
    if is_question(message):
        return _quoted(words_of(message))
    match marked(message):
        case "interrupt":
            added = words_of(message).removeprefix(USER_INTERRUPT.format(content=""))
            return f"**Added meanwhile:**\n\n{_quoted(added)}"
        case "answer":
            return f"**Answer:**\n\n{_quoted(words_of(message))}"
    return ""


def _folded(pieces: Sequence[Sequence[BaseMessage]]) -> str:
    """List calls where a click unfolds them."""
    items = [
        item
        for reply, *results in pieces
        if isinstance(reply, AIMessage)
        for item in _items(reply, results)
    ]
    count = sum(len(piece) - 1 for piece in pieces)
    summary = f"<details>\n<summary>{count} tool {'call' if count == 1 else 'calls'}</summary>"
    return "\n\n".join([summary, *items, "</details>"])


def _items(reply: AIMessage, results: Sequence[BaseMessage]) -> Iterator[str]:
    if reply.text.strip():
        yield _item(_quoted(reply.text))
    for call, result in zip(reply.tool_calls, results, strict=True):
        yield _item(_call(call, result))


def _call(call: ToolCall, result: BaseMessage) -> str:
    failed = isinstance(result, ToolMessage) and result.status == "error"
    seconds = result.response_metadata.get("seconds")
    notes = [*(["failed"] if failed else []), *([f"{seconds:.2f} s"] if seconds else [])]
    head = ", ".join([_code(call["name"]), *notes])
    args = orjson.dumps(cleaned(call["args"]), default=str).decode()
    return "\n\n".join(
        [head, _fenced(args, ARGUMENT_CHARS, "json"), _fenced(words_of(result), RESULT_CHARS)]
    )


def _footer(run: ExportedRun) -> str:
    """Say when a run began, how it ended, and what it took, as far as that is known."""
    known = [_time(run.started_at)] if run.started_at else []
    if run.run_id:
        known.append(f"stopped: {run.stop_reason}" if run.stop_reason else "not finished")
    if run.usage:
        tokens = run.usage["input_tokens"] + run.usage["output_tokens"]
        known.append(f"model calls: {run.usage['calls']:,} · tokens: {tokens:,}")
    return f"*{' · '.join(known)}*" if known else ""


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _quoted(text: str) -> str:
    r"""Put a text into a block quote: code and HTML that it leaves open end with the quote.

    >>> _quoted("a\r# b\n\n<!--")
    '> a\n> # b\n>\n> <!--'
    """
    return "\n".join(f"> {line}" if line else ">" for line in LINE_ENDS.split(text.strip()))


def _fenced(text: str, most: int, language: str = "") -> str:
    r"""Put a text into a code fence that is longer than any within it.

    >>> _fenced("```\nls", 100)
    '````\n```\nls\n````'
    """
    if len(text) > most:
        text = f"{text[:most]}\n… ({len(text) - most:,} more characters)"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return "\n".join([f"{fence}{language}", *LINE_ENDS.split(text), fence])


def _item(text: str) -> str:
    """Put blocks into an item of a list."""
    first, *rest = text.split("\n")
    return "\n".join([f"- {first}", *(f"  {line}" if line else "" for line in rest)])


def _code(text: str) -> str:
    """Put a text into a code span, on one line."""
    line = " ".join(text.split())
    ticks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{ticks} {line} {ticks}" if "`" in line else f"{ticks}{line}{ticks}"


def _escaped(text: str) -> str:
    r"""Keep what is special in Markdown from having an effect.

    >>> _escaped("<b> *c*")
    '\\<b\\> \\*c\\*'
    """
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))
