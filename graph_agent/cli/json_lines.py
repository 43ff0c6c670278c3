"""Shows a run as lines of JSON, the last of which is always `end`."""

from types import TracebackType
from typing import Self

import typer

from graph_agent.cli.safe_text import json_line
from graph_agent.errors import GraphAgentError
from graph_agent.events import End, Failed, WireEvent
from graph_agent.runs.runs import CANCELLED


class JsonLines:
    """Prints each event as a line; whatever happens, `end` is the last one."""

    def __init__(self) -> None:
        self._ended = False

    def show(self, event: WireEvent) -> None:
        """Print an event."""
        typer.echo(json_line(event))
        self._ended = event["event"] == "end"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._ended or isinstance(error, OSError):
            # A reader that left gets nothing more.
            return
        if isinstance(error, GraphAgentError):
            self.show(Failed(code=error.code, message=str(error)).wire())
        elif isinstance(error, KeyboardInterrupt):
            self.show(CANCELLED.wire())
        else:
            self.show(Failed(code="internal", message="The command failed.").wire())
        self.show(End().wire())
