"""CPU time of a whole run of one tool call an iteration, what it leaves on disk, its memory."""

import asyncio
import gc
import time
from pathlib import Path

from benchmarks.contenders import CONTENDERS
from benchmarks.contract import Figures, Place
from benchmarks.measurements.memory import peak_megabytes
from benchmarks.measurements.warming import ITERATIONS, answered, warm
from benchmarks.task import marks

EDGE = 10
"""Iterations at the beginning and at the end of a run that are compared."""


def measure(contender: str, place: Place, size: int) -> Figures:
    """Run `size` iterations: CPU ms an iteration, last to first, megabytes on disk and held."""
    cpu = asyncio.run(_cpu_of_run(contender, place, size))
    figures = {
        "cpu": 1_000 * cpu / size,
        "memory": peak_megabytes(),
    }
    if size_on_disk := _bytes_in(place.folder):
        figures["disk"] = size_on_disk / 1e6
    if size > 2 * EDGE:
        figures["growth"] = (marks[-1] - marks[-1 - EDGE]) / (marks[EDGE] - marks[0])
    return figures


def requests(size: int) -> int:
    """Return how many requests each contender sends: no more, no less."""
    return ITERATIONS + 1 + size + 1


async def _cpu_of_run(contender: str, place: Place, size: int) -> float:
    async with CONTENDERS[contender].open(place) as loop:
        await warm(loop)
        # What was imported until now is not looked through once more in some run or other, which
        # takes a tenth of a second.
        gc.collect()
        marks.clear()
        started = time.process_time()
        await answered(loop, size, "t")
        return time.process_time() - started


def _bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.sqlite*") if file.is_file())
