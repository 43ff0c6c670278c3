"""The clock: IANA names, cities and offsets, over a clock that the test sets."""

import datetime

import pytest
from langchain_core.tools import BaseTool, ToolException

from graph_agent.tools.builtin.clock import clock_tool, current_time

NOW = datetime.datetime(2026, 11, 30, 22, 31, 5, tzinfo=datetime.UTC)


@pytest.fixture
def clock() -> BaseTool:
    return clock_tool(lambda: NOW)


@pytest.mark.parametrize(
    ("timezone", "time"),
    [
        pytest.param("UTC", "Monday, 2026-11-30, 22:31:05 in UTC", id="UTC"),
        pytest.param(" ", "Monday, 2026-11-30, 22:31:05 in UTC", id="blank"),
        pytest.param(
            "Asia/Seoul", "Tuesday, 2026-12-01, 07:31:05 in Asia/Seoul (UTC+09:00)", id="next day"
        ),
        pytest.param(
            "europe/PARIS", "Monday, 2026-11-30, 23:31:05 in Europe/Paris (UTC+01:00)", id="case"
        ),
        pytest.param(
            "New  York", "Monday, 2026-11-30, 17:31:05 in America/New_York (UTC-05:00)", id="city"
        ),
        pytest.param(
            "Argentina/Buenos Aires",
            "Monday, 2026-11-30, 19:31:05 in America/Argentina/Buenos_Aires (UTC-03:00)",
            id="region and city",
        ),
        pytest.param(
            "Istanbul",
            "Tuesday, 2026-12-01, 01:31:05 in Asia/Istanbul (UTC+03:00)",
            id="two names of one zone",
        ),
        pytest.param("GMT+5", "Tuesday, 2026-12-01, 03:31:05 in UTC+05:00", id="ahead, not behind"),
        pytest.param("-3:30", "Monday, 2026-11-30, 19:01:05 in UTC-03:30", id="offset"),
    ],
)
def test_it_tells_the_time(clock: BaseTool, timezone: str, time: str) -> None:
    assert clock.invoke({"timezone": timezone}) == time


def test_without_arguments_it_tells_utc(clock: BaseTool) -> None:
    assert clock.invoke({}) == "Monday, 2026-11-30, 22:31:05 in UTC"


@pytest.mark.parametrize(
    ("timezone", "message"),
    [
        pytest.param(
            "Pari", "There is no time zone 'Pari'. Did you mean Europe/Paris?", id="misspelt"
        ),
        pytest.param(
            "Tokyo, Japan",
            "There is no time zone 'Tokyo, Japan'. Did you mean Asia/Tokyo?",
            id="with its country",
        ),
        pytest.param(
            "../../etc/passwd",
            "There is no time zone '../../etc/passwd'. Give an IANA name or UTC.",
            id="a path",
        ),
        pytest.param(
            "UTC+24",
            "An offset of 24 hours does not exist. Give one from -12 to +14.",
            id="offset of a day",
        ),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest(
    clock: BaseTool, timezone: str, message: str
) -> None:
    with pytest.raises(ToolException) as caught:
        clock.invoke({"timezone": timezone})

    assert str(caught.value) == message


def test_a_name_that_several_zones_share_is_refused_with_all_of_them(clock: BaseTool) -> None:
    with pytest.raises(ToolException, match="Did you mean Australia/West, Brazil/West"):
        clock.invoke({"timezone": "West"})


def test_the_shipped_tool_follows_the_clock_of_the_machine() -> None:
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    told = current_time.invoke({}).removesuffix(" in UTC")
    moment = datetime.datetime.strptime(f"{told} +0000", "%A, %Y-%m-%d, %H:%M:%S %z")

    assert before <= moment <= datetime.datetime.now(datetime.UTC)
