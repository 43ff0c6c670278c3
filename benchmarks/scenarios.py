"""What is measured: each scenario's contenders, sizes and columns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from benchmarks.contenders import CONTENDERS
from benchmarks.contract import Figures, Place
from benchmarks.measurements import crowd, first_token, reopen, run, served, start, stream

SDK = "SDK"
OURS = "ours, SQLite"
THEIRS = "create_agent, SQLite"
SAVING = ("create_agent, SQLite", "ours, SQLite")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One figure as a column of a table."""

    figure: str
    label: str
    form: str = ".1f"
    at_last: bool = False
    """Whether it is shown for the largest size alone."""
    to: str | None = None
    """The contender whose ratio is shown beside it."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One kind of measurement."""

    name: str
    title: str
    says: str
    """What the figures are, for who reads the table."""
    measure: Callable[[str, Place, int], Figures]
    contenders: tuple[str, ...]
    sizes: tuple[int, ...]
    columns: tuple[Column, ...]
    requests: Callable[[int], int] | None = None
    """How many requests a measurement sends, where that is the same for all."""
    keeps_folder: bool = False
    """Whether later rounds need what the first one left behind."""
    unit: str = ""
    """What a size counts; empty where there is one size."""
    in_short: tuple[int, ...] = field(default=())
    """The sizes of `make bench`."""


RUN = Scenario(
    name="run",
    title="One tool call an iteration",
    says="CPU milliseconds of an iteration over a whole run, each result of 2 kB; the last ten "
    "iterations over the first ten; megabytes on disk; megabytes of peak memory.",
    measure=run.measure,
    contenders=tuple(name for name in CONTENDERS if not name.endswith("server")),
    sizes=(10, 50, 200),
    columns=(
        Column(figure="cpu", label="ms", to=SDK),
        Column(figure="growth", label="last/first", form=".2f", at_last=True),
        Column(figure="disk", label="MB on disk", at_last=True),
        Column(figure="memory", label="MB held", form=".0f", at_last=True),
    ),
    requests=run.requests,
    unit="iterations",
    in_short=(10, 50),
)

REOPEN = Scenario(
    name="reopen",
    title="Opening a thread",
    says="Milliseconds to read a thread from SQLite in a process that has not seen it: the first "
    "time, and the median of five more.",
    measure=reopen.measure,
    contenders=SAVING,
    sizes=(200, 500),
    columns=(
        Column(figure="first", label="first, ms"),
        Column(figure="again", label="again, ms"),
    ),
    keeps_folder=True,
    unit="iterations",
)

CROWD = Scenario(
    name="crowd",
    title="A hundred threads at once",
    says="Ten iterations on each of a hundred threads in one process: iterations a second of "
    "wall time and of CPU time, megabytes of peak memory.",
    measure=crowd.measure,
    contenders=(
        *("httpx", SDK, "SDK, bypass", "create_agent", THEIRS),
        *("openai-agents", "pydantic-ai", "smolagents"),
        *("ours, memory", OURS, "ours, Postgres", "ours, SQLite, JSON"),
    ),
    sizes=(10,),
    columns=(
        Column(figure="wall", label="a second", form=".0f", to=THEIRS),
        Column(figure="cpu", label="a CPU second", form=".0f", to=THEIRS),
        Column(figure="memory", label="MB held", form=".0f"),
    ),
    requests=crowd.requests,
)

STREAM = Scenario(
    name="stream",
    title="A streamed answer",
    says="CPU microseconds of a piece: an answer of 2,000 pieces less one of 200.",
    measure=stream.measure,
    contenders=("httpx", SDK, "create_agent", THEIRS, "ours, memory", OURS),
    sizes=(2_000,),
    columns=(Column(figure="cpu", label="µs", form=".0f", to=SDK),),
)

DELAYS = (
    Column(figure="first_cpu", label="first, CPU ms", form=".2f"),
    Column(figure="first_wall", label="first, wall ms", form=".2f"),
    Column(figure="cpu", label="all, CPU ms", form=".2f"),
    Column(figure="wall", label="all, wall ms", form=".2f"),
)

FIRST_TOKEN = Scenario(
    name="first_token",
    title="The first token, in Python",
    says="From the endpoint's sending of a piece to its arrival: medians of the first pieces of "
    "ten answers, and of all pieces.",
    measure=first_token.measure,
    contenders=("httpx", SDK, "create_agent", THEIRS, "ours, memory", OURS),
    sizes=(20,),
    columns=DELAYS,
)

SERVED = Scenario(
    name="served",
    title="The first token, through a server",
    says="The same, to an HTTP client in a process of its own; CPU is the server's.",
    measure=served.measure,
    contenders=("create_agent, SQLite, server", "ours, SQLite, server"),
    sizes=(20,),
    columns=DELAYS,
)

START = Scenario(
    name="start",
    title="Starting",
    says="Milliseconds of CPU and wall time from the start of a process: until the import is done, "
    "to the end of the command, until the answer to one question without a tool.",
    measure=start.measure,
    contenders=(
        *start.IMPORTS,
        start.COMMAND_LINE,
        *(start.FIRST_ANSWER + name for name in (SDK, THEIRS, OURS)),
    ),
    sizes=(0,),
    columns=(
        Column(figure="cpu", label="CPU ms", form=".0f"),
        Column(figure="wall", label="wall ms", form=".0f"),
    ),
)

ALL: Final = (RUN, REOPEN, CROWD, STREAM, FIRST_TOKEN, SERVED, START)
SCENARIOS = {scenario.name: scenario for scenario in ALL}
