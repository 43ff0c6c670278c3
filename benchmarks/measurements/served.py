"""As `first_token`, through a server in this process, to a client in one of its own."""

import asyncio
import json
import os
import subprocess
import sys

from benchmarks.contenders import CONTENDERS, ROOT
from benchmarks.contract import Figures, Place
from benchmarks.measurements.first_token import ANSWERS, EVERY, figures_of
from benchmarks.task import say


def measure(contender: str, place: Place, size: int) -> Figures:
    """Stream some answers of `size` pieces each."""
    heard = asyncio.run(_heard(contender, place, size))
    answers = [[(wall, cpu) for wall, cpu in delays] for delays in json.loads(heard)]
    assert {len(delays) for delays in answers} == {size}, answers
    return figures_of(answers[1:])


async def _heard(contender: str, place: Place, size: int) -> bytes:
    question = say(size, every=EVERY, seen_by=os.getpid())
    async with CONTENDERS[contender].open(place) as served:
        listener = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "benchmarks.listener", served.address, question],
            *[str(os.getpid()), str(1 + ANSWERS)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        heard, _ = await listener.communicate()
    assert listener.returncode == 0
    return heard
