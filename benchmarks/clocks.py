"""The CPU clock of another process, to the nanosecond; Linux only."""

import time

CPU_OF_PROCESS = 2
"""Low bits of a clock's number, as the kernel has it."""


def cpu_of(process: int) -> int:
    """Return the CPU nanoseconds that a process has used, in all its threads."""
    return time.clock_gettime_ns((~process << 3) | CPU_OF_PROCESS)
