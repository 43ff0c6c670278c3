"""What the runs of this process came to, in numbers."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Tally:
    """What the runs of this process came to."""

    started: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    """Runs by their stop reason; `error` where there is none."""
    tokens: Counter[str] = field(default_factory=Counter)
    """Tokens of the runs that were answered, by their kind."""

    def take(self, outcome: dict[str, Any]) -> None:
        """Count a run that has ended."""
        reason = "cancelled" if outcome.get("code") == "cancelled" else "error"
        self.ended[outcome.get("stop_reason", reason)] += 1
        for kind in ("input", "output"):
            self.tokens[kind] += outcome.get("usage", {}).get(f"{kind}_tokens", 0)
