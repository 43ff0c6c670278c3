"""Prints threads, their steps and models: a table on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graph_agent.cli.model_rows import model_rows
from graph_agent.cli.safe_text import json_line, one_line
from graph_agent.errors import ConfigError
from graph_agent.models.registry import NOTHING_FOUND, ModelRegistry
from graph_agent.threads.history import CheckpointInfo
from graph_agent.threads.listing import ThreadInfo


def print_threads(threads: Sequence[ThreadInfo], *, json: bool) -> None:
    """Print threads: id, title, last used."""
    if json:
        print_json("thread", (t.model_dump(mode="json") for t in threads))
        return
    rows = [(t.thread_id, _local_time(t.updated_at), t.title) for t in threads]
    _print_table(("THREAD", "LAST USED", "TITLE"), rows)


def print_history(checkpoints: Sequence[CheckpointInfo], *, json: bool) -> None:
    """Print checkpoints: id, when saved, what came next, how many messages, the newest one."""
    if json:
        print_json("checkpoint", (info.model_dump(mode="json") for info in checkpoints))
        return
    header = ("CHECKPOINT", "SAVED", "NEXT", "MESSAGES", "NEWEST MESSAGE")
    rows = [
        (
            info.checkpoint_id,
            _local_time(info.created_at),
            ", ".join(info.next) or "end",
            str(info.messages),
            info.last_message,
        )
        for info in checkpoints
    ]
    _print_table(header, rows)


def print_models(registry: ModelRegistry, *, json: bool) -> None:
    """Print models: what is known of each, and which is the default; never a key.

    Raises:
        ConfigError: There is none.
    """
    rows = model_rows(registry)
    if not rows:
        raise ConfigError(NOTHING_FOUND)
    if json:
        print_json("model", map(asdict, rows))
        return
    header = ("NAME", "DEFAULT", "MODEL", "ADDRESS", "ABILITIES", "CONTEXT", "HINTS", "PROBLEM")
    _print_table(header, [row.columns() for row in rows])


def print_json(event: str, items: Iterable[dict[str, Any]]) -> None:
    """Print things as events, one a line, `end` last."""
    for item in items:
        typer.echo(json_line({"event": event, "data": item}))
    typer.echo(json_line({"event": "end", "data": {}}))


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table that fits the terminal; into a pipe, whole values with tabs between them."""
    if not sys.stdout.isatty():
        for row in rows:
            typer.echo("\t".join(map(one_line, row)))
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    filled = [n for n, _ in enumerate(header) if n == 0 or any(row[n] for row in rows)]
    for number in filled:
        table.add_column(header[number], no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(row[number])) for number in filled))
    Console().print(table)


def _local_time(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")
