"""Measures contender after contender, round after round, so that noise hits all alike."""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.request import urlopen

from benchmarks.contenders import on_postgres
from benchmarks.contract import Figures, Place
from benchmarks.endpoint.connection import COUNT_PATH
from benchmarks.endpoint.process import endpoint
from benchmarks.figures import Found, Job
from benchmarks.postgres import fresh_database, postgres_server
from benchmarks.processes import measured
from benchmarks.scenarios import SCENARIOS


@dataclass
class Stage:
    """What all measurements share: one endpoint, one server, a folder for what is kept."""

    url: str
    kept: Path
    server: str | None

    def take(self, job: Job) -> Figures:
        """Measure one thing in a fresh process, and check how many requests it sent."""
        scenario = SCENARIOS[job.scenario]
        before = self._requests()
        with self._place(job) as place:
            figures = measured(job.scenario, job.contender, job.size, place)
        sent = self._requests() - before
        if scenario.requests is not None and sent != scenario.requests(job.size):
            sys.exit(f"{job} sent {sent} requests in place of {scenario.requests(job.size)}.")
        return figures

    @contextmanager
    def _place(self, job: Job) -> Iterator[Place]:
        with ExitStack() as stack:
            if SCENARIOS[job.scenario].keeps_folder:
                folder = self.kept / f"{job.contender} {job.size}"
                folder.mkdir(exist_ok=True)
            else:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=self.kept)))
            place = Place(endpoint=self.url, folder=folder)
            if on_postgres(job.contender):
                assert self.server is not None
                database = stack.enter_context(fresh_database(self.server))
                place = replace(place, postgres=database)
            yield place

    def _requests(self) -> int:
        with urlopen(self.url.removesuffix("/v1") + COUNT_PATH.decode()) as answer:
            return int(answer.read())


@contextmanager
def stage(jobs: Sequence[Job]) -> Iterator[Stage]:
    """Start what these jobs need."""
    with ExitStack() as stack:
        kept = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        needs_server = any(on_postgres(job.contender) for job in jobs)
        server = stack.enter_context(postgres_server()) if needs_server else None
        yield Stage(url=stack.enter_context(endpoint()), kept=kept, server=server)


def measure_rounds(jobs: Sequence[Job], rounds: int, tell: Callable[[str], None]) -> Found:
    """Measure each job once in each round.

    Args:
        jobs: What to measure, in order.
        rounds: At least 1.
        tell: Is told how far it is.
    """
    found: Found = {job: [] for job in jobs}
    with stage(jobs) as set_up:
        for number in range(1, rounds + 1):
            for job in jobs:
                tell(f"round {number} of {rounds}: {job}")
                found[job].append(set_up.take(job))
    return found
