"""Learns from the usage that an endpoint reports how far off our count of tokens is."""

from dataclasses import dataclass

LEAST, MOST = 0.9, 2.0
"""Bounds of the factor; beyond them a report is about something else than the prompt."""


@dataclass
class Calibration:
    """True tokens of a prompt for each that we counted, at one endpoint."""

    factor: float = 1.0

    def observe(self, estimated: int, reported: int) -> None:
        """Learn from one request."""
        if estimated > 0 and reported > 0:
            self.factor = min(MOST, max(LEAST, self.factor, reported / estimated))
