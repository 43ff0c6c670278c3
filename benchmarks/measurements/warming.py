"""What every measured process does first, so that only the steady state is measured."""

from benchmarks.contract import Loop
from benchmarks.task import ANSWER, go

ITERATIONS = 3


async def warm(loop: Loop) -> None:
    """Run a few iterations on another thread."""
    await answered(loop, ITERATIONS, "warm")


async def answered(loop: Loop, iterations: int, thread: str) -> None:
    """Run, and check that it came to the end."""
    answer = await loop.run(go(iterations), thread)
    if answer != ANSWER:
        raise RuntimeError(f"A run of {iterations} iterations ended in {answer!r}.")
