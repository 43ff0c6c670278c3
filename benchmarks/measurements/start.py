"""What programs take until they have started: imports, the command line, the first answer."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.contenders import CONTENDERS, ROOT
from benchmarks.contract import Figures, Place

IMPORTS = {
    "Python alone": "pass",
    "import graph_agent": "import graph_agent",
    "import ReActAgent": "from graph_agent import ReActAgent",
    "import langchain": "import langchain.agents, langchain_openai",
}
TELL = "import time; print(time.process_time_ns(), flush=True)"
COMMAND_LINE = "graph-agent --help"
FIRST_ANSWER = "first answer: "

Started = Callable[[], Figures]


def measure(contender: str, place: Place, size: int) -> Figures:
    """Start a program twice and measure the second time: CPU and wall milliseconds."""
    started = _program(contender, place)
    started()  # It leaves the compiled modules behind.
    return started()


def _program(name: str, place: Place) -> Started:
    if name in IMPORTS:
        program = f"{IMPORTS[name]}; {TELL}"
        return lambda: _until_told([sys.executable, "-c", program])
    if name == COMMAND_LINE:
        command = Path(sys.executable).parent / "graph-agent"
        return lambda: _to_the_end([str(command), "--help"])
    return lambda: _to_the_answer(name.removeprefix(FIRST_ANSWER), place)


def _to_the_end(command: list[str]) -> Figures:
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    assert process.returncode == 0, command
    return {"cpu": 1_000 * (used.ru_utime + used.ru_stime), "wall": 1_000 * wall}


def _to_the_answer(contender: str, place: Place) -> Figures:
    chosen = CONTENDERS[contender]
    program = [chosen.python, "-m", "benchmarks.first_answer", chosen.opens]
    with tempfile.TemporaryDirectory(dir=place.folder) as folder:
        return _until_told([*program, place.endpoint, folder])


def _until_told(command: list[str]) -> Figures:
    """Measure until the program tells its CPU time: what Python takes to end is left out."""
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        used = int(process.stdout.readline())
        wall = time.perf_counter() - began
    assert process.returncode == 0, command
    return {"cpu": used / 1e6, "wall": 1_000 * wall}
