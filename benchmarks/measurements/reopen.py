"""How long it takes to open a thread from disk, in a process that has not seen it."""

import asyncio
import statistics
import time

from benchmarks.contenders import CONTENDERS
from benchmarks.contract import Figures, Place
from benchmarks.processes import measured

AGAIN = 5
MADE = "made"
"""A file that says that the folder holds the thread."""


def measure(contender: str, place: Place, size: int) -> Figures:
    """Open a thread of `size` iterations: milliseconds at first, and again."""
    if not (place.folder / MADE).exists():
        measured("run", contender, size, place)  # Its thread stays in the folder.
        (place.folder / MADE).touch()
    first, *again = asyncio.run(_reads(contender, place, size))
    return {"first": first, "again": statistics.median(again)}


async def _reads(contender: str, place: Place, size: int) -> list[float]:
    milliseconds = []
    async with CONTENDERS[contender].open(place) as loop:
        for _ in range(1 + AGAIN):
            started = time.perf_counter()
            messages = await loop.reopen("t")
            milliseconds.append(1_000 * (time.perf_counter() - started))
            assert messages >= 2 * size + 2, messages
    return milliseconds
