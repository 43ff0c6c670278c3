"""What is listed of many tools, and which ones where not all fit."""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from graph_agent.context.tokens import text_tokens
from graph_agent.prompts import SELECT_TOOLS
from graph_agent.tool_catalogue import MOST_TOKENS, affordable, catalogue, ranking
from graph_agent.tools.registry import ToolRegistry

LARGE, SMALL = 64_000, 7_000
"""Tokens of a prompt, of a usual model and of the embedded one."""


def tool(name: str, description: str) -> BaseTool:
    def call(text: str) -> str:
        return text

    return StructuredTool.from_function(call, name=name, description=description)


@cache
def thousand() -> list[BaseTool]:
    """Tools for a thousand places, and one for the weather in the midst."""
    tools = [tool(f"visit_place_{n}", f"Tell what can be seen in place {n}.") for n in range(1_000)]
    tools[700] = tool("getWeatherForecast", "Look up rain and sun of the next days for a city.")
    return tools


def test_few_tools_are_all_listed_in_their_order() -> None:
    tools = [
        tool("b", "Add two numbers.\n\nMore words."),
        tool("a", "x" * 200),
    ]

    lines = catalogue(tools, "numbers", budget=LARGE).split("\n")

    assert lines == ["b: Add two numbers.", f"a: {'x' * 76}…"]


@pytest.mark.parametrize(
    ("budget", "room"),
    [(LARGE, MOST_TOKENS), (SMALL, SMALL // 4)],
    ids=["large window", "small window"],
)
def test_a_catalogue_of_a_thousand_tools_keeps_to_its_room(budget: int, room: int) -> None:
    listed = catalogue(thousand(), "Will it rain in Seoul?", budget=budget)

    assert room * 0.9 < text_tokens(listed) <= room
    assert listed.startswith("getWeatherForecast: Look up rain")
    assert listed == catalogue(thousand(), "Will it rain in Seoul?", budget=budget)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        pytest.param("weather", 1, id="part of a name"),
        pytest.param("send it by MAIL", 2, id="description"),
        pytest.param("서울의 날씨가 어때?", 3, id="Korean, with particles"),
        pytest.param("上海天气怎么样", 4, id="Chinese, without spaces"),
        pytest.param("nothing of it", 0, id="no match: their own order"),
        pytest.param("", 0, id="no question"),
    ],
)
def test_the_likeliest_come_first(question: str, first: int) -> None:
    tools = [
        tool("clock", "Say what time is."),
        tool("getWeather", "Forecast."),
        tool("post", "Send a mail to somebody."),
        tool("ko", "도시의 날씨를 알려 준다."),
        tool("zh", "查询天气预报"),
        tool("odd", "…"),
    ]

    ranked = ranking(tools, question)

    assert ranked[0] == first
    assert sorted(ranked) == list(range(len(tools)))


def test_tools_of_which_nothing_can_be_read_keep_their_order() -> None:
    tools = [tool("_", "…"), tool("__", "—")]

    assert ranking(tools, "What is this?") == [0, 1]


def test_a_thousand_tools_are_ranked_within_moments() -> None:
    tools = thousand()
    ranking(tools, "warm up")

    begun = time.perf_counter()
    ranking(tools, "Will it rain in Seoul?")

    assert time.perf_counter() - begun < 1


def test_all_tools_are_affordable_where_their_schemas_fit() -> None:
    assert affordable(ToolRegistry(thousand()[:20]), "rain", budget=LARGE) == []


def test_of_too_many_tools_the_likeliest_are_affordable() -> None:
    names = affordable(ToolRegistry(thousand()), "Will it rain?", budget=SMALL)

    assert names[0] == "getWeatherForecast"
    assert 20 < len(names) < 200


SetStage = Callable[..., Any]


@pytest.mark.anyio
async def test_a_run_with_a_thousand_tools_fits_a_small_window(
    set_stage: SetStage, speech: Any
) -> None:
    chosen = {"id": "s", "name": "select_tools", "arguments": {"tools": ["getWeatherForecast"]}}
    script = [
        {"tool_calls": [chosen]},
        speech.calls(("getWeatherForecast", {"text": "Seoul"})),
        speech.final("draft"),
        "It rains.",
    ]
    window = {"context_size": 8_000, "max_output_tokens": 1_000}
    stage = set_stage(script, thousand(), spec=window)

    assert await stage.answer("Will it rain in Seoul?") == "It rains."

    [system, question] = stage.sent(0)
    assert system[1].startswith(SELECT_TOOLS.partition("{")[0])
    assert "getWeatherForecast: " in system[1]
    assert text_tokens(system[1]) < SMALL // 4 + 100
    assert question == ("user", "Will it rain in Seoul?")


@pytest.mark.anyio
@pytest.mark.parametrize("reply", ["I do not know.", '{"tools": ["no_such_tool"]}'])
async def test_a_selection_that_fails_among_a_thousand_tools_still_fits(
    set_stage: SetStage, speech: Any, reply: str
) -> None:
    def respond(body: dict[str, Any]) -> Any:
        selecting = body["messages"][0]["content"].startswith(SELECT_TOOLS.partition("{")[0])
        return reply if selecting else speech.final("It rains.")

    window = {"context_size": 8_000, "max_output_tokens": 1_000}
    stage = set_stage(respond, thousand(), spec=window)

    assert await stage.answer("Will it rain in Seoul?") == "It rains."

    asked = stage.endpoint.requests[-1].body
    assert text_tokens(str(asked)) < SMALL
    assert "getWeatherForecast" in str(asked)
    assert [m for m in asked["messages"] if m["role"] == "user"][-1]["content"].endswith("Seoul?")
