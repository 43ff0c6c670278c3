"""Tries a model call again after a passing fault: one layer, ours, and no other."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import openai

from graph_agent.errors import ModelUnavailableError
from graph_agent.models.failures import classify
from graph_agent.settings import Settings

FIRST_WAIT = 0.5
"""Seconds before the second try; each further wait doubles."""
LONGEST_WAIT = 30.0
"""Seconds."""

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

    @classmethod
    def of(cls, settings: Settings) -> "RetryPolicy":
        """Read the policy from the settings."""
        return cls(max_retries=settings.max_retries, deadline=settings.retry_deadline)

    async def call(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Run `attempt` until it succeeds, is refused, or the policy is used up.

        Raises:
            ModelError: The last fault, classified.
        """
        started = time.monotonic()
        for tries in range(self.max_retries + 1):
            try:
                return await attempt()
            except Exception as error:
                fault = classify(error)
                wait = _retry_after(error) or _backoff(tries)
                spent = time.monotonic() - started + wait > self.deadline
                if not isinstance(fault, ModelUnavailableError) or spent:
                    raise fault from error
                if tries == self.max_retries:
                    raise fault from error
            await self.sleep(wait)
        raise AssertionError("the loop above returns or raises")


def _backoff(tries: int) -> float:
    full: float = min(LONGEST_WAIT, FIRST_WAIT * 2**tries)
    return full * random.uniform(0.5, 1.0)


def _retry_after(error: Exception) -> float | None:
    if not isinstance(error, openai.APIStatusError):
        return None
    header = error.response.headers.get("retry-after", "")
    return min(LONGEST_WAIT, float(header)) if header.replace(".", "", 1).isdigit() else None
