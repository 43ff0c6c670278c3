"""What each command does with the engine."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import orjson
import typer

from graph_agent.agent import ReActAgent, new_thread_id
from graph_agent.cli.chat import Chat
from graph_agent.cli.conversation import Conversation
from graph_agent.cli.decisions import read_decisions
from graph_agent.cli.exit_codes import ExitCode
from graph_agent.cli.follow import agent_loop
from graph_agent.cli.lists import print_history, print_json, print_models, print_threads
from graph_agent.cli.safe_text import clean, json_line, one_line
from graph_agent.cli.storage import list_threads, opened_threads, queue_interrupt
from graph_agent.cli.views import Views
from graph_agent.config import Config, load_config
from graph_agent.context.encoding_download import fetch
from graph_agent.errors import ConfigError
from graph_agent.threads.kept import Form, KeptThreads

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Commands:
    """The commands, with the options that most of them share; each returns its exit code.

    All of them raise `GraphAgentError` where the caller set something wrong.
    """

    config: Path | None = None
    database: str | None = None
    model: str | None = None

    def ask(self, question: str, thread_id: str | None, *, json: bool) -> int:
        """Ask one question."""
        with Views(json=json) as views:
            text, agent = _text(question), self._agent()
            thread_id = thread_id or new_thread_id()
            with agent_loop(agent) as runner:
                return Conversation(agent, runner, thread_id, views).ask(text)

    def resume(
        self, thread_id: str, *, allow: bool | None, decide: Sequence[str], json: bool
    ) -> int:
        """Go on with an unfinished run, by decisions about all calls that wait or about each."""
        with Views(json=json) as views:
            each, agent = read_decisions(decide), self._agent()
            everything = None if allow is None else "allow" if allow else "deny"
            with agent_loop(agent) as runner:
                return Conversation(agent, runner, thread_id, views).resume(everything, each)

    def chat(self, thread_id: str | None) -> int:
        """Ask one question after another."""
        agent = self._agent()
        with agent_loop(agent) as runner:
            return Chat(agent, runner, thread_id or new_thread_id()).run()

    def serve(self, host: str, port: int, *, open_to_all: bool) -> int:
        """Serve HTTP until stopped."""
        # Late: only this command needs the server and what it imports.
        from graph_agent.cli.serving import serve  # noqa: PLC0415

        return serve(self._config(), self.model, host, port, open_to_all=open_to_all)

    def threads(self, limit: int, *, json: bool) -> int:
        """List threads."""
        found = asyncio.run(list_threads(self._config().settings.database, limit))
        print_threads(found, json=json)
        return ExitCode.OK

    def rename(self, thread_id: str, title: str) -> int:
        """Give a thread a title."""
        info = self._kept(lambda threads: threads.rename(thread_id, title))
        typer.echo(f"Renamed: {one_line(info.title)}")
        return ExitCode.OK

    def delete(self, thread_id: str, *, yes: bool) -> int:
        """Delete a thread, once the person at the terminal agrees."""
        if not yes and not _agreed(thread_id):
            typer.echo("Nothing was deleted.", err=True)
            return ExitCode.CANCELLED
        self._kept(lambda threads: threads.delete(thread_id))
        typer.echo("Deleted.")
        return ExitCode.OK

    def export(self, thread_id: str, *, json: bool) -> int:
        """Print a thread."""
        form: Form = "json" if json else "markdown"
        text = self._kept(lambda threads: threads.export(thread_id, form))
        if json:
            print_json("export", [orjson.loads(text)])
        else:
            typer.echo(clean(text), nl=False)
        return ExitCode.OK

    def history(self, thread_id: str, limit: int, *, json: bool) -> int:
        """List a thread's checkpoints."""
        found = self._kept(lambda threads: threads.history(thread_id, limit))
        print_history(found, json=json)
        return ExitCode.OK

    def fork(self, thread_id: str, checkpoint_id: str | None) -> int:
        """Begin a thread from another one."""
        typer.echo(self._kept(lambda threads: threads.fork(thread_id, checkpoint_id)))
        return ExitCode.OK

    def interrupt(self, thread_id: str, text: str) -> int:
        """Queue a message for a thread's run."""
        database = self._config().settings.database
        asyncio.run(queue_interrupt(database, thread_id, _text(text)))
        typer.echo("Queued: the run in progress answers it.")
        return ExitCode.OK

    def graph(self) -> int:
        """Print the graph's picture."""
        # Late: only this command needs a model that never answers.
        from graph_agent.cli.picture import picture  # noqa: PLC0415

        typer.echo(picture())
        return ExitCode.OK

    def models(self, *, json: bool) -> int:
        """List models."""
        print_models(self._config().models, json=json)
        return ExitCode.OK

    def prefetch(self, *, json: bool) -> int:
        """Download what exact token counts need."""
        path = fetch()
        if json:
            typer.echo(json_line({"event": "encoding", "data": {"path": str(path)}}))
            typer.echo(json_line({"event": "end", "data": {}}))
        else:
            typer.echo(f"Token counts are exact, by {one_line(str(path))}")
        return ExitCode.OK

    def _kept(self, work: Callable[[KeptThreads], Awaitable[T]]) -> T:
        """Do something with the threads of the database."""

        async def done() -> T:
            async with opened_threads(self._config().settings.database) as threads:
                return await work(threads)

        return asyncio.run(done())

    def _config(self) -> Config:
        if self.database:
            return load_config(self.config, database=self.database)
        return load_config(self.config)

    def _agent(self) -> ReActAgent:
        return self._config().agent(self.model)


def _text(given: str) -> str:
    return sys.stdin.read().strip() if given == "-" else given.strip()


def _agreed(thread_id: str) -> bool:
    """Ask whether a thread is to be deleted."""
    if not sys.stdin.isatty():
        raise ConfigError("Nobody can be asked here. Say `--yes` to delete the thread.")
    try:
        return typer.confirm(f"Delete thread {one_line(thread_id)} for good?", err=True)
    except typer.Abort:
        return False
