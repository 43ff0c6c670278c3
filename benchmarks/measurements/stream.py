"""CPU time of a piece of a streamed answer: what a long one takes over a short one."""

import asyncio
import time

from benchmarks.contenders import CONTENDERS
from benchmarks.contract import Figures, Place, StreamingLoop
from benchmarks.task import say

SHORT = 200
EVERY = 1
"""Milliseconds between two pieces: as from a model, each is a read of its own."""


def measure(contender: str, place: Place, size: int) -> Figures:
    """Stream `size` pieces, and a few: CPU microseconds of one."""
    return {"cpu": 1e6 * asyncio.run(_cpu_of_piece(contender, place, size))}


async def _cpu_of_piece(contender: str, place: Place, size: int) -> float:
    async with CONTENDERS[contender].open(place) as loop:
        await _cpu_of_answer(loop, SHORT, "warm")
        short = await _cpu_of_answer(loop, SHORT, "short")
        long = await _cpu_of_answer(loop, size, "long")
        return (long - short) / (size - SHORT)


async def _cpu_of_answer(loop: StreamingLoop, pieces: int, thread: str) -> float:
    started, read = time.process_time(), 0
    async for text in loop.deltas(say(pieces, every=EVERY), thread):
        read += text.count(" ")
    assert read == pieces, read
    return time.process_time() - started
