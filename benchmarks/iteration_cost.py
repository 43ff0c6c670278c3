"""What one iteration costs as a thread grows, and what a thread takes on disk.

Run `python benchmarks/iteration_cost.py`: prints the median milliseconds of iterations around the
10th, 50th, 100th and 200th of a run before a zero-latency endpoint, and the bytes in SQLite.
"""

import asyncio
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graph_agent import ModelRegistry, ReActAgent
from graph_agent.models.spec import ModelSpec
from graph_agent.testing import StrictEndpoint

ITERATIONS = 200
ROUNDS = 5
RESULT = "x" * 2_000
AROUND = 4
"""Iterations on each side that a median takes in."""


def look(number: int) -> str:
    """Return two kilobytes.

    Args:
        number: Makes each call another one.
    """
    return f"{number} {RESULT}"


def scripted(iterations: int, *, native: bool):
    """Call the tool `iterations` times, then answer."""
    count = iter(range(iterations + 2))

    async def reply(body: dict) -> dict | str:
        number = next(count)
        if number >= iterations:
            done = '{"type": "final_answer", "answer": "done"}'
            return "done" if native or number > iterations else done
        if native:
            call = {"id": f"c{number}", "name": "look", "arguments": {"number": number}}
            return {"content": "", "tool_calls": [call]}
        return f'{{"type": "tool_call", "tool": "look", "args": {{"number": {number}}}}}'

    return reply


def serve() -> None:
    """Be the endpoint, in a process of its own, so that its work is not counted as ours."""
    native = sys.argv[2] == "native"
    with StrictEndpoint(scripted(ITERATIONS, native=native), profile="lenient", keep=1) as endpoint:
        print(endpoint.base_url, flush=True)
        sys.stdin.read()


@contextmanager
def endpoint_process(*, native: bool) -> Iterator[str]:
    """Start the endpoint and give its address."""
    command = [sys.executable, __file__, "serve", "native" if native else "json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as it:
        yield it.stdout.readline().strip()
        it.stdin.close()


async def measure(url: str, *, native: bool, database: str) -> tuple[list[float], float]:
    """Return the wall seconds of each iteration, and the CPU seconds of the whole run."""
    starts: list[float] = []
    models = ModelRegistry({"fake": ModelSpec(model="fake", base_url=url)})
    async with ReActAgent(
        "fake",
        [look],
        models=models,
        database=database,
        use_native_tools=native,
        max_iterations=ITERATIONS + 1,
        context_size=1_000_000,
        completion_check_min_tools=0,  # one call more at the end would shift the script
    ) as agent:
        cpu = time.process_time()
        async for event in agent.stream("Go"):
            data = event["data"]
            if data.get("type") == "thinking" and data["status"] == "start":
                starts.append(time.perf_counter())
        cpu = time.process_time() - cpu
    return [after - before for before, after in itertools.pairwise(starts)], cpu


def around(seconds: list[float], place: int) -> float:
    """Return the median milliseconds of the iterations around one place."""
    return 1000 * statistics.median(seconds[place - AROUND : place + AROUND])


def one_round(*, native: bool, kind: str) -> list[float]:
    """Return one round's figures: ms around each place, the ratio, CPU ms, megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.sqlite"
        database = "memory:" if kind == "memory" else f"sqlite:///{file}"
        with endpoint_process(native=native) as url:
            seconds, cpu = asyncio.run(measure(url, native=native, database=database))
        size = sum(f.stat().st_size for f in Path(folder).glob("t.sqlite*") if f.is_file())
    at = [around(seconds, place) for place in (10, 50, 100, ITERATIONS - AROUND)]
    return [*at, at[2] / at[0], 1000 * cpu / ITERATIONS, size / 1e6]


def main() -> None:
    """Measure in interleaved rounds and print the medians as a table."""
    cases = [(native, kind) for native in (True, False) for kind in ("memory", "sqlite")]
    figures: dict[tuple[bool, str], list[list[float]]] = {case: [] for case in cases}
    for _ in range(ROUNDS):
        for native, kind in cases:
            figures[native, kind].append(one_round(native=native, kind=kind))
    print("| mode | database | 10th ms | 50th | 100th | 200th | 100th/10th | CPU ms/it | MB |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for (native, kind), rounds in figures.items():
        medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
        cells = " | ".join(f"{value:.2f}" for value in medians)
        print(f"| {'native' if native else 'json'} | {kind} | {cells} |")


if __name__ == "__main__":
    serve() if sys.argv[1:2] == ["serve"] else main()
