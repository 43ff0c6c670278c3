"""The command line: measure in rounds, measure one thing in this process, write reports anew."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.contenders import CONTENDERS, on_postgres
from benchmarks.contract import Place
from benchmarks.endpoint.process import endpoint
from benchmarks.figures import Found, Job, load, save
from benchmarks.plot import drawing
from benchmarks.postgres import fresh_database, postgres_server
from benchmarks.processes import FIXED
from benchmarks.rounds import measure_rounds
from benchmarks.scenarios import ALL, RUN, SCENARIOS, Scenario
from benchmarks.tables import report

RESULTS = Path(__file__).parent / "results"
SHORT_ROUNDS, FULL_ROUNDS = 2, 5
NAMES = tuple(dict.fromkeys(name for scenario in ALL for name in scenario.contenders))
BY_NAME = "by the name in a report, such as 'ours, SQLite'"


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="measure in interleaved rounds and write a report")
    run.add_argument("--full", action="store_true", help="all scenarios, contenders and sizes")
    run.add_argument("--scenarios", nargs="+", choices=SCENARIOS)
    run.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=BY_NAME)
    run.add_argument("--lengths", type=_numbers, help="sizes, such as 10,50")
    run.add_argument("--rounds", type=int, help=f"{SHORT_ROUNDS}, or {FULL_ROUNDS} if full")
    run.add_argument("--name", help="of the files below benchmarks/results; none writes none")
    run.set_defaults(do=run_rounds)
    measure = commands.add_parser("measure", help="measure one thing, in this process")
    measure.add_argument("scenario", choices=SCENARIOS)
    measure.add_argument("contender", choices=NAMES, metavar="contender", help=BY_NAME)
    measure.add_argument("size", type=int, help="iterations, or pieces of an answer")
    measure.add_argument("--endpoint", help="base URL; without it, one is started")
    measure.add_argument("--folder", type=Path, help="for the database; else a temporary one")
    measure.add_argument("--postgres", help="URL of an empty database; else one is made")
    measure.set_defaults(do=measure_here)
    again = commands.add_parser("report", help="write a report anew from its figures")
    again.add_argument("name", help="of the files below benchmarks/results")
    again.set_defaults(do=lambda chosen: write(load(RESULTS / f"{chosen.name}.json"), chosen.name))
    return parser.parse_args(arguments)


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def run_rounds(chosen: argparse.Namespace) -> None:
    """Measure what was chosen, and report it."""
    rounds = chosen.rounds or (FULL_ROUNDS if chosen.full else SHORT_ROUNDS)
    jobs = list(chosen_jobs(chosen))
    if not jobs:
        sys.exit("None of these contenders is in these scenarios.")
    found = measure_rounds(jobs, rounds, tell=lambda line: print(line, file=sys.stderr))
    write(found, chosen.name)


def chosen_jobs(chosen: argparse.Namespace) -> Iterator[Job]:
    """Yield what one round measures; without a choice, a short run of what is at hand."""
    everything = chosen.full or chosen.scenarios is not None
    names = chosen.scenarios or (SCENARIOS if chosen.full else [RUN.name])
    for scenario in (SCENARIOS[name] for name in names):
        sizes = chosen.lengths or (scenario.sizes if everything else scenario.in_short)
        for size in sizes:
            for contender in scenario.contenders:
                if _is_chosen(contender, chosen, everything=everything):
                    yield Job(scenario.name, contender, size)


def _is_chosen(contender: str, chosen: argparse.Namespace, *, everything: bool) -> bool:
    if chosen.only:
        return contender in chosen.only
    return everything or contender not in CONTENDERS or CONTENDERS[contender].is_at_hand


def write(found: Found, name: str | None) -> None:
    """Print the report, and keep it, its figures and its picture."""
    text, picture = report(found), drawing(found)
    print(text)
    if name is not None:
        RESULTS.mkdir(exist_ok=True)
        save(found, RESULTS / f"{name}.json")
        (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
        if picture is not None:
            (RESULTS / f"{name}.svg").write_text(picture, encoding="utf-8")


def measure_here(chosen: argparse.Namespace) -> None:
    """Measure one thing, and print its figures as JSON."""
    os.environ.update(FIXED)
    scenario: Scenario = SCENARIOS[chosen.scenario]
    with ExitStack() as stack:
        url = chosen.endpoint or stack.enter_context(endpoint())
        folder = chosen.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database = chosen.postgres
        if database is None and on_postgres(chosen.contender):
            database = stack.enter_context(fresh_database(stack.enter_context(postgres_server())))
        place = Place(endpoint=url, folder=folder, postgres=database)
        print(json.dumps(scenario.measure(chosen.contender, place, chosen.size)))


def main() -> None:
    """Do what was asked for."""
    chosen = parsed(sys.argv[1:])
    chosen.do(chosen)


if __name__ == "__main__":
    main()
