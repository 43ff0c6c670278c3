"""Learns from the usage that an endpoint reports how far off our count of a prompt's tokens is."""

import math

LEAST, MOST = 1.0, 2.0
"""Bounds of the factor; where we count too much, the room that is left free does no harm."""
STEPS = 20
"""The factor is a multiple of one part in so many."""
PERIOD = 50
"""Reports after which the factor may come down, to the highest of them."""
SMALLEST_PROMPT = 200
"""Tokens by our count; of a smaller prompt, what the server itself adds is too large a part."""
PLAUSIBLE = (0.5, 2.0)
"""Ratios that one report may have to be believed; others are believed once they come again."""


class Calibration:
    """True tokens of a prompt for each one that we count, at one endpoint.

    The factor goes up at once and comes down seldom, in steps: how a prompt is cut depends on it,
    and a prompt that is cut another way at each step is found in no provider's cache. It changes
    by assignment alone, so that threads and event loops may share it.
    """

    def __init__(self) -> None:
        self.factor = 1.0
        """From 1.0 to 2.0; 1.0 until something is learned."""
        self._highest = LEAST
        self._reports = 0
        self._doubted: float | None = None

    def observe(self, estimated: int, reported: int | None) -> None:
        """Learn from one request.

        Args:
            estimated: Tokens of the prompt by our count, with the tools that it offers.
            reported: Tokens of it that the endpoint reports, cached ones included. Without a
                report, None or 0, nothing is learned.
        """
        if estimated < SMALLEST_PROMPT or not reported or reported < 0:
            return
        ratio = reported / estimated
        if self._is_believed(ratio):
            self._learn(min(MOST, ratio))

    def _learn(self, ratio: float) -> None:
        self._highest = max(self._highest, math.ceil(round(STEPS * ratio, 6)) / STEPS)
        self._reports += 1
        self.factor = max(self.factor, self._highest)
        if self._reports >= PERIOD:
            self.factor = self._highest
            self._highest, self._reports = LEAST, 0

    def _is_believed(self, ratio: float) -> bool:
        """Doubt what is far off, unless the report before was off the same way."""
        low, high = PLAUSIBLE
        before = self._doubted
        self._doubted = None if low <= ratio <= high else ratio
        return self._doubted is None or (before is not None and (before > high) == (ratio > high))
