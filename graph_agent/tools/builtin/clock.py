"""The `current_time` tool: date, weekday and time in the time zone that was asked for."""

import datetime
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from langchain_core.tools import BaseTool, StructuredTool, ToolException

SUGGESTIONS = 5
"""Zone names in an error message, at most."""
_OFFSET = re.compile(r"(?:utc|gmt|z)?(?:([+-])([0-9]{1,2})(?::?([0-5][0-9]))?)?")


def clock_tool(now: Callable[[], datetime.datetime]) -> BaseTool:
    """Build the `current_time` tool over a clock.

    Args:
        now: Returns the present moment, with its time zone.
    """

    def current_time(timezone: str = "UTC") -> str:
        """Get the current weekday, date and time in a time zone or city.

        Args:
            timezone: An IANA time zone name, or the name of a large city.
        """
        moment = now()
        zone = _zone(timezone, moment)
        local = moment.astimezone(zone)
        offset = f" (UTC{local.isoformat()[-6:]})" if isinstance(zone, ZoneInfo) else ""
        return f"{local:%A, %Y-%m-%d, %H:%M:%S} in {zone}{offset}"

    return StructuredTool.from_function(
        current_time, parse_docstring=True, error_on_invalid_docstring=True
    )


def _system_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


current_time = clock_tool(_system_now)
"""The tool over the clock of this machine."""


def _zone(wanted: str, moment: datetime.datetime) -> datetime.tzinfo:
    """Find a zone by its name, by a city in it, or by an offset from UTC."""
    key = "_".join(wanted.split()).lower()
    offset = _OFFSET.fullmatch(key)
    # Offsets come before names: the zone that ends in `GMT+5` is five hours behind, not ahead.
    if offset:
        return _fixed_offset(*offset.groups())
    names = _zone_names()
    matches = [names[key]] if key in names else _by_last_parts(key)
    # Old and new names of one zone stand side by side: they agree, and any of them will do.
    offsets = {moment.astimezone(ZoneInfo(name)).utcoffset() for name in matches}
    if len(offsets) != 1:
        raise _unknown(wanted, key, matches)
    return ZoneInfo(matches[0])


@cache
def _zone_names() -> dict[str, str]:
    """Map the names of all zones in lower case to their spelling."""
    # Some systems list the setting of the machine itself as a zone.
    return {name.lower(): name for name in sorted(available_timezones() - {"localtime"})}


def _by_last_parts(key: str) -> list[str]:
    """Find the zones that end in a city, or in a region and a city."""
    return [name for low, name in _zone_names().items() if low.endswith(f"/{key}")]


def _fixed_offset(sign: str | None, hours: str | None, minutes: str | None) -> datetime.timezone:
    size = datetime.timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    if size >= datetime.timedelta(days=1):
        raise ToolException(f"An offset of {hours} hours does not exist. Give one from -12 to +14.")
    return datetime.timezone(-size if sign == "-" else size)


def _unknown(wanted: str, key: str, matches: Iterable[str]) -> ToolException:
    names = _zone_names()
    shown = repr(wanted[:60])
    by_city = {low.rsplit("/", 1)[-1]: name for low, name in names.items()} | names
    close = [by_city[low] for part in (key, key.split(",")[0]) for low in _close(part, by_city)]
    nearest = list(dict.fromkeys([*matches, *close]))[:SUGGESTIONS]
    hint = f"Did you mean {', '.join(nearest)}?" if nearest else "Give an IANA name or UTC."
    return ToolException(f"There is no time zone {shown}. {hint}")


def _close(part: str, names: Iterable[str]) -> list[str]:
    return get_close_matches(part, names, n=SUGGESTIONS, cutoff=0.7)
