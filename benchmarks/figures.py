"""What the rounds found: medians, ratios round by round, and a file that keeps all of it."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.contract import Figures


class Job(NamedTuple):
    """One measurement."""

    scenario: str
    contender: str
    size: int

    def __str__(self) -> str:
        size = f" ({self.size})" if self.size else ""
        return f"{self.scenario}, {self.contender}{size}"


Found = dict[Job, list[Figures]]
"""What each round found of each job."""


class Reading(NamedTuple):
    """One figure of one job."""

    job: Job
    figure: str


def median(found: Found, reading: Reading) -> float | None:
    """Return the median of a figure; None where it was not measured."""
    values = _values(found, reading)
    return statistics.median(values) if values else None


def ratio(found: Found, upper: Reading, lower: Reading) -> float | None:
    """Return the median of the ratios of two figures, each within a round."""
    pairs = zip(_values(found, upper), _values(found, lower), strict=False)
    ratios = [over / under for over, under in pairs if under]
    return statistics.median(ratios) if ratios else None


def _values(found: Found, reading: Reading) -> Sequence[float]:
    rounds = found.get(reading.job, [])
    return [figures[reading.figure] for figures in rounds if reading.figure in figures]


def save(found: Found, file: Path) -> None:
    """Keep all figures of all rounds."""
    rows = [{**job._asdict(), "rounds": rounds} for job, rounds in found.items()]
    lines = ",\n".join(json.dumps(row) for row in rows)
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def load(file: Path) -> Found:
    """Read what `save` has kept."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    return {Job(row["scenario"], row["contender"], row["size"]): row["rounds"] for row in rows}
