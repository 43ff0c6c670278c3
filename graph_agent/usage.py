"""Adds up what the model calls of a run used."""

from langchain_core.messages import AIMessage

from graph_agent.state import RunUsage, Usage


def no_usage() -> RunUsage:
    """Start a run's count."""
    return RunUsage(input_tokens=0, output_tokens=0, cached_tokens=0, calls=0, by_purpose={})


def usage_of(*replies: AIMessage) -> Usage:
    """Read the tokens that an endpoint reported; a reply without a report counts as one call."""
    total = Usage(input_tokens=0, output_tokens=0, cached_tokens=0, calls=0)
    for reply in replies:
        reported = reply.usage_metadata
        total = _sum(
            total,
            Usage(
                input_tokens=reported["input_tokens"] if reported else 0,
                output_tokens=reported["output_tokens"] if reported else 0,
                cached_tokens=_cached(reply),
                calls=1,
            ),
        )
    return total


def add_usage(run: RunUsage | None, purpose: str, used: Usage) -> RunUsage:
    """Add `used` to the run's total and to its purpose; `run` itself stays as it is."""
    run = run or no_usage()
    before = run["by_purpose"].get(purpose)
    part = _sum(before, used) if before else used
    return RunUsage(**_sum(run, used), by_purpose={**run["by_purpose"], purpose: part})


def less(run: RunUsage, before: RunUsage) -> RunUsage:
    """Return what was used since `before`."""
    parts = {
        purpose: _difference(part, before["by_purpose"].get(purpose))
        for purpose, part in run["by_purpose"].items()
    }
    return RunUsage(**_difference(run, before), by_purpose=parts)


def _difference(one: Usage, other: Usage | None) -> Usage:
    if other is None:
        return one
    return Usage(
        input_tokens=one["input_tokens"] - other["input_tokens"],
        output_tokens=one["output_tokens"] - other["output_tokens"],
        cached_tokens=one["cached_tokens"] - other["cached_tokens"],
        calls=one["calls"] - other["calls"],
    )


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=one["input_tokens"] + other["input_tokens"],
        output_tokens=one["output_tokens"] + other["output_tokens"],
        cached_tokens=one["cached_tokens"] + other["cached_tokens"],
        calls=one["calls"] + other["calls"],
    )


def _cached(reply: AIMessage) -> int:
    if reply.usage_metadata is None:
        return 0
    return reply.usage_metadata.get("input_token_details", {}).get("cache_read") or 0
