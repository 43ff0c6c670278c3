"""What each command does with the engine."""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import typer

from graph_agent.agent import ReActAgent, new_thread_id
from graph_agent.cli.chat import Chat
from graph_agent.cli.exit_codes import ExitCode
from graph_agent.cli.follow import agent_loop, follow
from graph_agent.cli.lists import print_models, print_threads
from graph_agent.cli.safe_text import json_line, one_line
from graph_agent.cli.storage import list_threads, queue_interrupt
from graph_agent.cli.views import Views
from graph_agent.config import Config, load_config
from graph_agent.context.encoding_download import fetch


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
                return runner.run(follow(agent.stream(text, thread_id=thread_id), views, thread_id))

    def resume(self, thread_id: str, *, json: bool) -> int:
        """Go on with an unfinished run."""
        with Views(json=json) as views:
            agent = self._agent()
            with agent_loop(agent) as runner:
                return runner.run(follow(agent.stream_resume(thread_id), views, thread_id))

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

    def _config(self) -> Config:
        if self.database:
            return load_config(self.config, database=self.database)
        return load_config(self.config)

    def _agent(self) -> ReActAgent:
        return self._config().agent(self.model)


def _text(given: str) -> str:
    return sys.stdin.read().strip() if given == "-" else given.strip()
