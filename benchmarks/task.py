"""What every contender is asked to do, and the one tool it has.

The endpoint reads from the question how long a run is: `Go 50` takes fifty calls of the tool,
`Say 200 every 1 ms` is answered in two hundred pieces, one each millisecond.
"""

import re
import time

MODEL = "m"
KEY = "k"
ANSWER = "done"
"""What the endpoint says at the end of a run."""
RESULT_BEGINS = "look result "
"""How each tool result begins; the endpoint counts these to know how far a run is."""
RESULT_CHARS = 2_000
FILLING = "x" * RESULT_CHARS
STAMP = re.compile(r"t(\d+)c(\d+) ")
"""A stamped piece: when it was sent (monotonic ns), and what the reader's process took (CPU ns)."""

TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Return two kilobytes.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
        },
    },
}
"""The tool as it is declared to a model, for loops that declare it by hand."""

marks: list[float] = []
"""CPU seconds of this process at each call of the tool."""


def look(number: int) -> str:
    """Return two kilobytes.

    Args:
        number: Makes each call another one.
    """
    marks.append(time.process_time())
    return f"{RESULT_BEGINS}{number} {FILLING}"


def go(iterations: int) -> str:
    """Ask for so many calls of the tool, one after the other."""
    return f"Go {iterations}"


def say(pieces: int, *, every: int, seen_by: int | None = None) -> str:
    """Ask for an answer in so many pieces.

    Args:
        pieces: How many.
        every: Milliseconds between two; 0 sends all at once.
        seen_by: The process whose CPU time is stamped into each piece, beside the time of day.
    """
    return f"Say {pieces} every {every} ms" + (f" seen by {seen_by}" if seen_by else "")
