"""The options that commands share, and how a command is run: the engine is imported only then."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph_agent.cli.exit_codes import exit_code_of_error
from graph_agent.cli.safe_text import one_line
from graph_agent.errors import GraphAgentError

if TYPE_CHECKING:
    from graph_agent.cli.commands import Commands

Config = Annotated[Path | None, typer.Option(help="The config file, in place of graph-agent.toml.")]
Database = Annotated[
    str | None, typer.Option(help="Where threads live: sqlite:///PATH, postgresql://… or memory:")
]
Model = Annotated[str | None, typer.Option(help="The model, by its name (`models` lists them).")]
Thread = Annotated[str | None, typer.Option(help="The conversation to go on with, by its id.")]
ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="The conversation's id.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object a line, `end` last, nothing else.")
]


def run_command(
    work: "Callable[[Commands], int]",
    config: Path | None = None,
    database: str | None = None,
    model: str | None = None,
) -> None:
    """Run a command; what the caller can mend is told in one line, not by a traceback."""
    # Late: importing the engine takes a second or two, which `--help` need not wait for.
    from graph_agent.cli.commands import Commands  # noqa: PLC0415

    try:
        code = work(Commands(config=config, database=database, model=model))
    except GraphAgentError as error:
        typer.echo(f"error: {one_line(str(error))}", err=True)
        code = exit_code_of_error(error.code)
    raise typer.Exit(code)
