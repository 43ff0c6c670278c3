"""`graph-agent threads`: list conversations, or do something with one of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from graph_agent.cli.options import Config, Database, Json, ThreadId, run_command

threads_app = typer.Typer(rich_markup_mode=None)

Limit = Annotated[int, typer.Option(min=1, help="How many to list.")]
CheckpointId = Annotated[
    str | None, typer.Option("--checkpoint", help="The step to begin from; `history` lists them.")
]
Title = Annotated[str, typer.Argument(help="The new title, on one line.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")]


@dataclass(frozen=True)
class Given:
    """What was given before the name of a command: it holds unless given again behind it."""

    config: Path | None
    database: str | None
    json: bool


@threads_app.callback(invoke_without_command=True)
def threads(
    context: typer.Context,
    limit: Limit = 50,
    config: Config = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """List conversations, or rename, delete, export, fork one of them."""
    context.obj = Given(config, database, json)
    if context.invoked_subcommand is None:
        run_command(lambda commands: commands.threads(limit, json=json), config, database)


@threads_app.command()
def rename(
    context: typer.Context,
    thread: ThreadId,
    title: Title,
    config: Config = None,
    database: Database = None,
) -> None:
    """Give a conversation a title of your own."""
    given: Given = context.obj
    run_command(
        lambda commands: commands.rename(thread, title),
        config or given.config,
        database or given.database,
    )


@threads_app.command()
def delete(
    context: typer.Context,
    thread: ThreadId,
    yes: Yes = False,
    config: Config = None,
    database: Database = None,
) -> None:
    """Delete a conversation, for good."""
    given: Given = context.obj
    run_command(
        lambda commands: commands.delete(thread, yes=yes),
        config or given.config,
        database or given.database,
    )


@threads_app.command()
def export(
    context: typer.Context,
    thread: ThreadId,
    config: Config = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Print a conversation as Markdown, or whole as JSON."""
    given: Given = context.obj
    run_command(
        lambda commands: commands.export(thread, json=json or given.json),
        config or given.config,
        database or given.database,
    )


@threads_app.command()
def history(
    context: typer.Context,
    thread: ThreadId,
    limit: Limit = 50,
    config: Config = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """List a conversation's saved steps, newest first."""
    given: Given = context.obj
    run_command(
        lambda commands: commands.history(thread, limit, json=json or given.json),
        config or given.config,
        database or given.database,
    )


@threads_app.command()
def fork(
    context: typer.Context,
    thread: ThreadId,
    checkpoint: CheckpointId = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Begin a new conversation with what this one held; print its id."""
    given: Given = context.obj
    run_command(
        lambda commands: commands.fork(thread, checkpoint),
        config or given.config,
        database or given.database,
    )
