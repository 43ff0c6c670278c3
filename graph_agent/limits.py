"""Says when a run has used up what it may: tokens, money, or time."""

from graph_agent.models.prices import Prices
from graph_agent.settings import Settings
from graph_agent.state import RunUsage, StopReason, Turn, Usage
from graph_agent.usage import less, no_usage

ANSWER_SHARE = 0.2
"""Share of `run_timeout` that the loop leaves for writing the answer."""
LONGEST_ANSWER = 30.0
"""Seconds that it leaves at most."""
FAST_PURPOSES = ("select_tools", "compaction")
"""What the fast model does, where there is one."""


def limit_reached(
    usage: RunUsage, settings: Settings, *, elapsed: float, spent: float = 0.0
) -> StopReason | None:
    """Tell which limit stops the loop before its next call, if any does.

    Args:
        usage: What the run has used.
        settings: Where the limits stand.
        elapsed: Seconds since the run began.
        spent: Money that the run has cost.
    """
    seconds = loop_seconds(settings.run_timeout)
    if seconds is not None and elapsed >= seconds:
        return "time_limit"
    if settings.max_total_tokens is not None and total_tokens(usage) >= settings.max_total_tokens:
        return "token_limit"
    if settings.max_cost is not None and spent >= settings.max_cost:
        # There is no reason of its own for money: tokens are what it was spent on.
        return "token_limit"
    return None


def limit_named(
    reason: StopReason, usage: RunUsage | None, settings: Settings, *, iterations: int
) -> str:
    """Name the limit that stopped a run, for its reader."""
    match reason:
        case "repeated_calls":
            return f"{settings.repeated_calls_stop} equal calls with equal results"
        case "error":
            return "what fits the model's window"
        case "time_limit":
            return f"{settings.run_timeout:g} seconds"
        case "token_limit":
            most = settings.max_total_tokens
            if most is not None and total_tokens(usage or no_usage()) >= most:
                return f"{most:,} tokens"
            return f"a cost of {settings.max_cost:g}"
    return f"{iterations} iterations"


def loop_seconds(run_timeout: float | None) -> float | None:
    """Return the seconds that the loop may take: what is left is for the answer.

    >>> loop_seconds(10.0), loop_seconds(600.0)
    (8.0, 570.0)
    """
    if run_timeout is None:
        return None
    return run_timeout - min(ANSWER_SHARE * run_timeout, LONGEST_ANSWER)


def total_tokens(usage: Usage | RunUsage) -> int:
    """Add up what was sent and what was replied."""
    return usage["input_tokens"] + usage["output_tokens"]


def spent(turn: Turn, usage: RunUsage | None, prices: Prices | None, fast: Prices | None) -> float:
    """Return the money that a run has cost; a model without prices costs nothing.

    Args:
        turn: Tells what was spent before another model took over.
        usage: What the run has used.
        prices: Of the model in use.
        fast: Of the model that selects tools and summarises.
    """
    switched = turn.get("switched")
    used = less(usage or no_usage(), switched["usage"] if switched else no_usage())
    total = switched["spent"] if switched else 0.0
    for purpose, part in used["by_purpose"].items():
        paid = fast if purpose in FAST_PURPOSES else prices
        total += paid.cost(part) if paid else 0.0
    return total
