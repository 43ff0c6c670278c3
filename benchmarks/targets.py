"""What is wanted, as data: the bounds that `make bench-full` holds the figures against."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import ge, le
from typing import Literal

from benchmarks.figures import Found, Job, Reading, median, ratio
from benchmarks.scenarios import OURS, SDK, THEIRS

BYPASS = "SDK, bypass"
SHARE = 1 / 25
SIGNS = {"at most": le, "at least": ge}


@dataclass(frozen=True, kw_only=True)
class Target:
    """One bound on a figure, or on its ratio to another."""

    says: str
    of: Reading
    to: Reading | None = None
    bound: float
    direction: Literal["at most", "at least"] = "at most"

    def measured(self, found: Found) -> float | None:
        """Return what was found; None where a part of it was not measured."""
        if self.to is None:
            return median(found, self.of)
        return ratio(found, self.of, self.to)

    def is_met_by(self, value: float) -> bool:
        """Tell whether the bound holds."""
        return bool(SIGNS[self.direction](value, self.bound))


def reading(scenario: str, contender: str, size: int, figure: str = "cpu") -> Reading:
    """Name a figure."""
    return Reading(Job(scenario, contender, size), figure)


def _beside(says: str, other: str, bounds: dict[int, float]) -> Iterator[Target]:
    for size, bound in bounds.items():
        yield Target(
            says=f"CPU of an iteration beside {says}, {size} iterations",
            of=reading("run", OURS, size),
            to=reading("run", other, size),
            bound=bound,
        )


def _below(bounds: dict[int, float]) -> Iterator[Target]:
    for size, bound in bounds.items():
        yield Target(
            says=f"times less CPU than create_agent on SQLite, {size} iterations",
            of=reading("run", THEIRS, size),
            to=reading("run", OURS, size),
            bound=bound,
            direction="at least",
        )


TARGETS = (
    *_beside("the bare SDK", SDK, {10: 1.1, 50: 0.36, 200: 0.10}),
    *_beside("the SDK with its validation passed by", BYPASS, {10: 3.2, 50: 2.7, 200: 1.9}),
    *_below({10: 2, 50: 4, 200: 11}),
    Target(
        says="last ten of 200 iterations over the first ten",
        of=reading("run", OURS, 200, "growth"),
        bound=1.3,
    ),
    Target(
        says="bytes on disk beside create_agent's, 200 iterations",
        of=reading("run", OURS, 200, "disk"),
        to=reading("run", THEIRS, 200, "disk"),
        bound=SHARE,
    ),
    Target(
        says="milliseconds to open a thread of 200 iterations",
        of=reading("reopen", OURS, 200, "first"),
        bound=15,
    ),
    Target(
        says="throughput of a hundred threads beside create_agent on SQLite",
        of=reading("crowd", OURS, 10, "wall"),
        to=reading("crowd", THEIRS, 10, "wall"),
        bound=2.5,
        direction="at least",
    ),
    Target(
        says="peak memory of a hundred threads beside create_agent on SQLite",
        of=reading("crowd", OURS, 10, "memory"),
        to=reading("crowd", THEIRS, 10, "memory"),
        bound=1,
    ),
    Target(
        says="CPU of a streamed piece beside the bare SDK",
        of=reading("stream", OURS, 2_000),
        to=reading("stream", SDK, 2_000),
        bound=1.2,
    ),
    Target(
        says="CPU milliseconds to the first token, in Python",
        of=reading("first_token", OURS, 20, "first_cpu"),
        bound=1,
    ),
    Target(
        says="CPU milliseconds to the first token, through our server",
        of=reading("served", f"{OURS}, server", 20, "first_cpu"),
        bound=2,
    ),
    Target(
        says="CPU of `import graph_agent` beside LangChain's",
        of=reading("start", "import graph_agent", 0),
        to=reading("start", "import langchain", 0),
        bound=0.6,
    ),
    Target(
        says="CPU milliseconds of `graph-agent --help`",
        of=reading("start", "graph-agent --help", 0),
        bound=400,
    ),
    *(
        Target(
            says=f"{kind} time from start to first answer beside create_agent on SQLite",
            of=reading("start", f"first answer: {OURS}", 0, figure),
            to=reading("start", f"first answer: {THEIRS}", 0, figure),
            bound=0.85,
        )
        for kind, figure in (("CPU", "cpu"), ("wall", "wall"))
    ),
    *(
        Target(
            says=f"CPU of JSON mode beside native, {size} iterations",
            of=reading("run", f"{OURS}, JSON", size),
            to=reading("run", OURS, size),
            bound=1.3,
        )
        for size in (10, 50, 200)
    ),
    *(
        Target(
            says=f"CPU with events read beside without, {size} iterations",
            of=reading("run", OURS, size),
            to=reading("run", f"{OURS}, no events", size),
            bound=1.1,
        )
        for size in (10, 50, 200)
    ),
)
