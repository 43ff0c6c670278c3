"""Tries a model call again after a passing fault: one layer, ours, and no other."""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar

from graph_agent.errors import ModelUnavailableError
from graph_agent.models.failures import classify
from graph_agent.settings import Settings

FIRST_WAIT = 0.5
"""Seconds before the second try; each further wait doubles."""
LONGEST_WAIT = 30.0
"""Seconds, unless the endpoint asks for more."""
NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often and how long to try."""

    max_retries: int = 4
    """Further tries after the first."""
    deadline: float = 120.0
    """Seconds after which no further try starts."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits between tries; a test passes its own."""
    clock: Callable[[], float] = time.monotonic
    """Seconds, from anywhere; a test passes its own."""

    @classmethod
    def of(cls, settings: Settings) -> "RetryPolicy":
        """Read the policy from the settings."""
        return cls(max_retries=settings.max_retries, deadline=settings.retry_deadline)

    async def call(self, attempt: Callable[[], Awaitable[T]], *, since: float | None = None) -> T:
        """Run `attempt` until it succeeds, is refused, or the policy is used up.

        Args:
            attempt: What to try.
            since: The clock when the deadline began to run; None means now.

        Raises:
            ModelError: The last fault, classified.
            ConfigError: `attempt` found something set wrong.
        """
        started, tries = self.clock() if since is None else since, 0
        while True:
            try:
                return await attempt()
            except Exception as error:
                fault, wait = classify(error), _wait(error, tries)
                passing = isinstance(fault, ModelUnavailableError) and tries < self.max_retries
                if not passing or self.is_late(started, wait):
                    if fault is error:
                        raise
                    raise fault from error
            tries += 1
            await self.sleep(wait)

    def is_late(self, started: float, wait: float = 0.0) -> bool:
        """Tell whether a try that starts in `wait` seconds would start after the deadline."""
        return self.clock() - started + wait > self.deadline


def _wait(error: Exception, tries: int) -> float:
    """Return seconds to wait: what the endpoint asks for, else twice as long each time."""
    headers = getattr(getattr(error, "response", error), "headers", None) or {}
    asked = _asked_to_wait(headers)
    if asked is not None:
        return asked
    full: float = min(LONGEST_WAIT, FIRST_WAIT * 2**tries)
    return full * random.uniform(0.5, 1.0)


def _asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Read how many seconds the endpoint asks for: in milliseconds, in seconds, or by a date."""
    milliseconds, after = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    if NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    if NUMBER.fullmatch(after):
        return float(after)
    try:
        return max(0.0, parsedate_to_datetime(after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
