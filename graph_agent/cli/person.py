"""Asks the person at the terminal what to do about the tool calls that wait."""

import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeAlias

import typer
from rich.console import Console

from graph_agent.cli.rendering import waiting_call
from graph_agent.cli.safe_text import clean

QUESTION = "Allow? [y]es / [n]o / [e]xplain"
WHY = "Why not?"

Decision: TypeAlias = str | dict[str, str]
"""As the engine reads it: `"allow"`, `"deny"` or `{"deny": why}`."""


class Person:
    """Somebody who sees the console and can type."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def decide(self, calls: Iterable[Mapping[str, Any]]) -> dict[str, Decision] | None:
        """Ask about one call after another; None where the person gives no answer."""
        _forget_typed()
        try:
            return {call["interrupt_id"]: self._decide(call) for call in calls}
        except typer.Abort:
            self._console.print()
            return None

    def _decide(self, call: Mapping[str, Any]) -> Decision:
        self._console.print(waiting_call(call), markup=False, highlight=False, soft_wrap=True)
        while True:
            match self._ask(QUESTION).lower():
                case "y" | "yes":
                    return "allow"
                case "n" | "no":
                    return "deny"
                case "e" | "explain":
                    why = clean(self._ask(WHY))
                    return {"deny": why} if why else "deny"

    def _ask(self, question: str) -> str:
        err = self._console.stderr
        said = typer.prompt(question, "", show_default=False, prompt_suffix=" ", err=err)
        return str(said).strip()


def person_here() -> Person | None:
    """Return who sits at the terminal, if this is one."""
    screens = sys.stdout.isatty(), sys.stderr.isatty()
    if not sys.stdin.isatty() or not any(screens):
        return None
    return Person(Console(stderr=not screens[0]))


def _forget_typed() -> None:
    """Drop what was typed before the question was shown: it answered something else."""
    with suppress(ImportError):
        # Where terminals are of another kind, as on Windows, nothing is dropped.
        termios = import_module("termios")
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
