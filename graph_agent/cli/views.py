"""How a run is shown: as lines of JSON, as a plain answer, or live on a terminal."""

import sys
from contextlib import ExitStack
from types import TracebackType
from typing import Protocol, Self

import typer
from rich.console import Console

from graph_agent.cli.json_lines import JsonLines
from graph_agent.cli.person import Person, person_here
from graph_agent.cli.progress import LiveView
from graph_agent.cli.safe_text import clean
from graph_agent.events import WireEvent


class View(Protocol):
    """Shows one run's events as they come."""

    def show(self, event: WireEvent) -> None:
        """Show an event, or leave it out."""
        ...


class PlainAnswer:
    """Prints the answer once it is final, and nothing else, for pipes and files."""

    def show(self, event: WireEvent) -> None:
        """Print the answer of `done`."""
        if event["event"] == "done":
            typer.echo(clean(event["data"]["answer"]))


class Views:
    """The views that fit where stdout and stderr lead."""

    def __init__(self, *, json: bool = False) -> None:
        self._json = json
        self._views: list[View] = []
        self._open = ExitStack()

    def show(self, event: WireEvent) -> None:
        """Show an event in each of them."""
        for view in self._views:
            view.show(event)

    @property
    def person(self) -> Person | None:
        """Who can be asked something: nobody where a program reads."""
        return None if self._json else person_here()

    def __enter__(self) -> Self:
        if sys.stdout.isatty() and not self._json:
            self._views = [self._open.enter_context(LiveView(Console(), answers=True))]
            return self
        self._views = [self._open.enter_context(JsonLines()) if self._json else PlainAnswer()]
        if sys.stderr.isatty() and not sys.stdout.isatty():
            progress = LiveView(Console(stderr=True), answers=False)
            self._views.append(self._open.enter_context(progress))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, trace)
