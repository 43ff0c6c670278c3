"""The commands of `graph-agent` and their options; the engine is imported once one of them runs."""

import io
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from graph_agent.cli.options import Config, Database, Json, Model, Thread, ThreadId, run_command
from graph_agent.cli.threads_app import threads_app

EPILOG = (
    "Exit codes: 0 final answer, 2 usage or configuration, 3 stopped by a limit or waiting for a "
    "person's decision, 4 the model's endpoint failed, 130 cancelled."
)

app = typer.Typer(
    help="Ask an agent that works with tools; every conversation is kept and can go on.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(threads_app, name="threads")


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # No input and no answer may fail because of a terminal's encoding.
            stream.reconfigure(errors="replace")
    app(prog_name="graph-agent")


@app.callback(invoke_without_command=True)
def graph_agent(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Take what stands before the command."""
    if show_version:
        typer.echo(f"graph-agent {version('graph-agent')}")
        raise typer.Exit


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question; `-` reads it from stdin.")],
    thread: Thread = None,
    model: Model = None,
    config: Config = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Ask one question and print the answer."""
    run_command(lambda commands: commands.ask(question, thread, json=json), config, database, model)


@app.command()
def chat(
    thread: Thread = None, model: Model = None, config: Config = None, database: Database = None
) -> None:
    """Talk at the terminal.

    What you type while a run goes on is added to it. Ctrl-C stops the run, Ctrl-D ends the chat.
    """
    run_command(lambda commands: commands.chat(thread), config, database, model)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free one.")] = 8000,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Let everyone in who reaches the address.")
    ] = False,
    model: Model = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Serve the web page and the HTTP API."""
    run_command(
        lambda commands: commands.serve(host, port, open_to_all=no_auth), config, database, model
    )


@app.command()
def resume(
    thread: ThreadId,
    allow: Annotated[
        bool | None,
        typer.Option("--allow/--deny", help="Decide about all tool calls that wait for a person."),
    ] = None,
    decide: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=allow", help="Decide about one call: ID=allow, ID=deny or ID=deny:WHY."
        ),
    ] = None,
    model: Model = None,
    config: Config = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Go on with a run that was cancelled, broke off, or waits for a person."""
    run_command(
        lambda commands: commands.resume(thread, allow=allow, decide=decide or [], json=json),
        config,
        database,
        model,
    )


@app.command()
def interrupt(
    thread: ThreadId,
    text: Annotated[str, typer.Argument(help="What to tell the agent; `-` reads it from stdin.")],
    config: Config = None,
    database: Database = None,
) -> None:
    """Add a message to the run in progress."""
    run_command(lambda commands: commands.interrupt(thread, text), config, database)


@app.command()
def graph() -> None:
    """Print the picture of the agent's graph, in Mermaid."""
    run_command(lambda commands: commands.graph())


@app.command()
def models(
    prefetch: Annotated[
        bool,
        typer.Option(
            "--prefetch",
            help="List nothing, but download the file (4 MB) by which tokens are counted exactly, "
            "into tiktoken's cache (TIKTOKEN_CACHE_DIR). Without it counts are estimates.",
        ),
    ] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """List the models that are set up."""
    if prefetch:
        run_command(lambda commands: commands.prefetch(json=json))
    else:
        run_command(lambda commands: commands.models(json=json), config)
