"""The conversation at the terminal: one question after another, on one thread."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module

import typer

from graph_agent.agent import ReActAgent
from graph_agent.cli.conversation import Conversation
from graph_agent.cli.exit_codes import ExitCode
from graph_agent.cli.follow import Events, follow
from graph_agent.cli.safe_text import one_line
from graph_agent.cli.typed_lines import typed_lines
from graph_agent.cli.views import View, Views

PROMPT = "> "
GREETING = (
    "Model {model}, thread {thread}. What you type while it works is added to the run; "
    "Ctrl-C stops the run, Ctrl-D ends the chat."
)


class Chat:
    """Asks what is typed, or what comes through a pipe, line by line."""

    def __init__(self, agent: ReActAgent, runner: asyncio.Runner, thread_id: str) -> None:
        self._agent = agent
        self._runner = runner
        self._thread_id = thread_id

    def run(self) -> ExitCode:
        """Talk until the input ends; from a pipe, a question that fails or waits ends it too."""
        for question in _typed() if self._greet() else _piped():
            with Views() as views:
                turn = Conversation(
                    self._agent, self._runner, self._thread_id, views, follow=self._listen
                )
                code = turn.ask(question)
            ended = code in (ExitCode.OK, ExitCode.STOPPED) and not turn.waits
            if not ended and not sys.stdin.isatty():
                return code
        return ExitCode.OK

    async def _listen(self, events: Events, view: View, thread_id: str) -> ExitCode | None:
        """Follow a run; lines typed meanwhile are added to it."""
        queued: list[asyncio.Task[object]] = []

        def interrupt(text: str) -> None:
            adding = self._agent.interrupt(thread_id, text)
            queued.append(asyncio.create_task(adding))

        with typed_lines(interrupt):
            code = await follow(events, view, thread_id)
        await asyncio.gather(*queued)
        return code

    def _greet(self) -> bool:
        """Say how it works, where somebody types."""
        if not sys.stdin.isatty():
            return False
        greeting = GREETING.format(model=self._agent.model.name, thread=self._thread_id)
        typer.secho(one_line(greeting), dim=True, err=True)
        return True


def _typed() -> Iterator[str]:
    with suppress(ImportError):
        # Gives `input` a history and the arrow keys; Windows has its own.
        import_module("readline")
    with suppress(EOFError):
        while True:
            if text := input(PROMPT).strip():
                yield text
    typer.echo()


def _piped() -> Iterator[str]:
    for line in sys.stdin:
        if text := line.strip():
            yield text
