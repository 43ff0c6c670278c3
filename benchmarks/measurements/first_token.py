"""From the endpoint's sending of a piece to its arrival in Python; in time and in CPU time.

The endpoint stamps into each piece the time of day and this process's CPU clock.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Sequence

from benchmarks.contenders import CONTENDERS
from benchmarks.contract import Figures, Place
from benchmarks.task import STAMP, say

EVERY = 10
"""Milliseconds between two pieces, so that none waits for the one before it."""
ANSWERS = 10
"""After one that warms up."""

Delay = tuple[int, int]
"""Nanoseconds of wall and of CPU time from a piece's sending to its arrival."""


def measure(contender: str, place: Place, size: int) -> Figures:
    """Stream some answers of `size` pieces each."""
    return figures_of(asyncio.run(_delays(contender, place, size)))


def figures_of(answers: Sequence[Sequence[Delay]]) -> Figures:
    """Return the medians of the first pieces, and of all, in milliseconds."""
    first = [delays[0] for delays in answers]
    every = [delay for delays in answers for delay in delays]
    return {
        "first_cpu": _median([cpu for _, cpu in first]),
        "first_wall": _median([wall for wall, _ in first]),
        "cpu": _median([cpu for _, cpu in every]),
        "wall": _median([wall for wall, _ in every]),
    }


def _median(nanoseconds: Sequence[int]) -> float:
    return statistics.median(nanoseconds) / 1e6


async def _delays(contender: str, place: Place, size: int) -> list[list[Delay]]:
    question, answers = say(size, every=EVERY, seen_by=os.getpid()), []
    async with CONTENDERS[contender].open(place) as loop:
        for number in range(1 + ANSWERS):
            delays: list[Delay] = []
            async for text in loop.deltas(question, f"t{number}"):
                wall, cpu = time.monotonic_ns(), time.process_time_ns()
                delays += [
                    (wall - int(sent), cpu - int(used)) for sent, used in STAMP.findall(text)
                ]
            assert len(delays) == size, len(delays)
            answers.append(delays)
    return answers[1:]
