"""The most memory that this process has held."""

import resource
from pathlib import Path

STATUS = Path("/proc/self/status")
PEAK = "VmHWM:"
"""The peak in kilobytes, as Linux has it."""


def peak_megabytes() -> float:
    """Return the peak of the resident set."""
    if STATUS.exists():
        # `ru_maxrss` would begin at what the process that started this one holds.
        lines = STATUS.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(PEAK)) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
