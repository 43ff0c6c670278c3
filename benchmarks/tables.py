"""Writes what was found as Markdown tables."""

import os
import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from benchmarks.figures import Found, Job, Reading, median, ratio
from benchmarks.scenarios import ALL, Column, Scenario
from benchmarks.targets import TARGETS

PACKAGES = ("httpx", "aiohttp", "openai", "langchain", "langchain-openai", "langgraph")
NOTHING = "-"


def report(found: Found) -> str:
    """Return all tables, with what they were measured on."""
    parts = [_header(found), *(_section(scenario, found) for scenario in ALL), wanted(found)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _header(found: Found) -> str:
    rounds = max(map(len, found.values()))
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        "# What a loop costs\n\n"
        f"{datetime.now(UTC):%Y-%m-%d}; Python {platform.python_version()}, {packages}; "
        f"{os.cpu_count()} cores, {platform.machine()}; medians of {rounds} interleaved rounds, "
        "ratios taken within a round."
    )


def _section(scenario: Scenario, found: Found) -> str:
    jobs = [job for job in found if job.scenario == scenario.name]
    if not jobs:
        return ""
    sizes = sorted({job.size for job in jobs})
    names = dict.fromkeys(job.contender for job in jobs)
    heads = ["", *_heads(scenario, sizes)]
    rows = [[name, *_cells(scenario, sizes, name, found)] for name in names]
    return f"## {scenario.title}\n\n{scenario.says}\n\n{table(heads, rows)}"


def _placed(scenario: Scenario, sizes: Sequence[int]) -> Iterator[tuple[Column, int]]:
    """Yield each column with the size that it stands for."""
    for size in sizes:
        for column in scenario.columns:
            if not column.at_last or size == sizes[-1]:
                yield column, size


def _heads(scenario: Scenario, sizes: Sequence[int]) -> Iterator[str]:
    for column, size in _placed(scenario, sizes):
        yield f"{size}: {column.label}" if scenario.unit else column.label
        if column.to:
            yield f"to {column.to}"


def _cells(scenario: Scenario, sizes: Sequence[int], contender: str, found: Found) -> Iterator[str]:
    for column, size in _placed(scenario, sizes):
        reading = Reading(Job(scenario.name, contender, size), column.figure)
        yield _shown(median(found, reading), column.form)
        if column.to:
            other = Reading(Job(scenario.name, column.to, size), column.figure)
            yield _shown(ratio(found, reading, other), ".2f")


def _shown(value: float | None, form: str) -> str:
    return NOTHING if value is None else format(value, form)


def wanted(found: Found) -> str:
    """Return the table of bounds; those that were not measured are left out."""
    rows = []
    for target in TARGETS:
        value = target.measured(found)
        if value is not None:
            met = "yes" if target.is_met_by(value) else "**no**"
            bound = f"{target.direction} {target.bound:.3g}"
            rows.append([target.says, bound, f"{value:.3g}", met])
    if not rows:
        return ""
    return f"## Wanted and measured\n\n{table(['', 'wanted', 'measured', 'met'], rows)}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a Markdown table; all columns but the first are set to the right."""
    rule = ["---", *["--:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))
