"""The runs of this process in numbers, in the text form that Prometheus reads."""

from collections.abc import Iterator, Mapping

from graph_agent.runs.runs import Runs

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics(runs: Runs) -> str:
    """Write the numbers down."""
    tally = runs.tally
    families = [
        *_family("runs_started_total", "counter", "Runs that began.", tally.started),
        *_family("runs_ended_total", "counter", "Runs that ended.", tally.ended, "stop_reason"),
        *_family("runs_in_progress", "gauge", "Runs in progress.", runs.in_progress),
        *_family("tokens_total", "counter", "Tokens of answered runs.", tally.tokens, "kind"),
    ]
    return "\n".join(families) + "\n"


def _family(
    name: str, kind: str, help_text: str, values: Mapping[str, int] | int, label: str = ""
) -> Iterator[str]:
    name = f"graph_agent_{name}"
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
    if isinstance(values, int):
        yield f"{name} {values}"
    else:
        # A stop reason is one of ours, and needs no escaping.
        yield from (f'{name}{{{label}="{key}"}} {values[key]}' for key in sorted(values))
