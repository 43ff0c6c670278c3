"""Measures one thing in a fresh process of the contender's own environment."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

from benchmarks.contenders import CONTENDERS, ROOT
from benchmarks.contract import Figures, Place

FIXED = {
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}
"""Nothing is traced."""
LEFT_OUT = re.compile(r"GRAPH_AGENT_.*|PYTHONDONTWRITEBYTECODE|.*_proxy", re.IGNORECASE)
"""Our settings, what makes every process compile anew, what stands before the endpoint."""


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in given.items() if not LEFT_OUT.fullmatch(name)} | FIXED


ENVIRONMENT: Final = _environment(os.environ)


def measured(scenario: str, contender: str, size: int, place: Place) -> Figures:
    """Return what `python -m benchmarks measure` prints.

    Raises:
        SystemExit: It failed; what it said stands above.
    """
    python = CONTENDERS[contender].python if contender in CONTENDERS else sys.executable
    command = [python, "-m", "benchmarks", "measure", scenario, contender, str(size)]
    command += ["--endpoint", place.endpoint, "--folder", str(place.folder)]
    if place.postgres is not None:
        command += ["--postgres", place.postgres]
    done = subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{scenario}, {contender}, {size}: the measurement failed.")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures
