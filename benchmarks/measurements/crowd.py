"""Many threads at once in one process."""

import asyncio
import time

from benchmarks.contenders import CONTENDERS
from benchmarks.contract import Figures, Place
from benchmarks.measurements.memory import peak_megabytes
from benchmarks.measurements.warming import ITERATIONS, answered, warm

THREADS = 100


def measure(contender: str, place: Place, size: int) -> Figures:
    """Run `size` iterations on each of many threads: iterations a second, and the peak memory."""
    wall, cpu = asyncio.run(_seconds(contender, place, size))
    iterations = THREADS * size
    return {"wall": iterations / wall, "cpu": iterations / cpu, "memory": peak_megabytes()}


def requests(size: int) -> int:
    """Return how many requests each contender sends: no more, no less."""
    return ITERATIONS + 1 + THREADS * (size + 1)


async def _seconds(contender: str, place: Place, size: int) -> tuple[float, float]:
    async with CONTENDERS[contender].open(place) as loop:
        await warm(loop)
        wall, cpu = time.perf_counter(), time.process_time()
        async with asyncio.TaskGroup() as group:
            for number in range(THREADS):
                group.create_task(answered(loop, size, f"t{number}"))
        return time.perf_counter() - wall, time.process_time() - cpu
