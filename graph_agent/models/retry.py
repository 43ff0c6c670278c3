"""Tries a model call again after a passing fault: one layer, ours, and no other."""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable
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

    async def call(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Run `attempt` until it succeeds, is refused, or the policy is used up.

        Raises:
            ModelError: The last fault, classified.
            ConfigError: `attempt` found something set wrong.
        """
        started, tries = self.clock(), 0
        while True:
            try:
                return await attempt()
            except Exception as error:
                fault, wait = classify(error), _wait(error, tries)
                late = self.clock() - started + wait > self.deadline
                if (
                    not isinstance(fault, ModelUnavailableError)
                    or late
                    or tries >= self.max_retries
                ):
                    if fault is error:
                        raise
                    raise fault from error
            tries += 1
            await self.sleep(wait)


def _wait(error: Exception, tries: int) -> float:
    """Return seconds to wait: what the endpoint asks for, else twice as long each time."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    asked = _retry_after(headers.get("retry-after", ""))
    if asked is not None:
        return asked
    full: float = min(LONGEST_WAIT, FIRST_WAIT * 2**tries)
    return full * random.uniform(0.5, 1.0)


def _retry_after(header: str) -> float | None:
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", header):
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
