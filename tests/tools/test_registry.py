"""Tools have names that models take, descriptions, and schemas without what is injected."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import pytest
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.prebuilt import InjectedState, ToolRuntime

from graph_agent.errors import ConfigError
from graph_agent.tools.registry import ToolRegistry


def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


async def look(
    place: str,
    state: Annotated[dict[str, Any], InjectedState],
    call_id: Annotated[str, InjectedToolCallId],
    runtime: ToolRuntime,
) -> str:
    """Look around.

    More words.
    """
    return place


def no_docstring() -> None: ...


def named(name: str) -> StructuredTool:
    return StructuredTool.from_function(add, name=name, description="Add.")


def test_a_function_is_described_by_its_docstring() -> None:
    registry = ToolRegistry([add])

    [found] = registry
    assert (found.name, found.description) == ("add", "Add two numbers.")
    assert registry.schema("add") == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first."},
            "b": {"type": "integer", "description": "The second.", "default": 2},
        },
        "required": ["a"],
    }


def test_what_is_injected_is_not_in_the_schema() -> None:
    schema = ToolRegistry([look]).schema("look")

    assert (list(schema["properties"]), schema["required"]) == (["place"], ["place"])


def test_a_tool_without_arguments_has_a_schema() -> None:
    def now() -> str:
        """Tell the time."""
        return "now"

    assert ToolRegistry([now]).schema("now") == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("tools", "fault"),
    [
        pytest.param([no_docstring], "`no_docstring` has no docstring", id="no docstring"),
        pytest.param([add, add], "Two tools are called `add`", id="twice"),
        pytest.param([named("a b")], "'a b' is not one that models take", id="space"),
        pytest.param([named("assets/list")], "'assets/list' is not one", id="slash"),
        pytest.param([named("n" * 65)], "is not one that models take", id="too long"),
        pytest.param([named("도구")], "'도구' is not one that models take", id="not ASCII"),
        pytest.param([partial(add, b=1)], "is no function with a name", id="partial"),
    ],
)
def test_a_tool_that_models_cannot_use_is_refused(tools: list[Any], fault: str) -> None:
    with pytest.raises(ConfigError) as raised:
        ToolRegistry(tools)

    assert fault in str(raised.value)


def test_the_order_is_the_registrys_whatever_is_chosen() -> None:
    registry = ToolRegistry([named("b"), named("a"), named("c")])

    assert registry.names() == ["b", "a", "c"]
    assert [found.name for found in registry.chosen(["c", "b", "unknown"])] == ["b", "c"]
    assert [found.name for found in registry.chosen([])] == ["b", "a", "c"]
    assert (len(registry), registry.get("d")) == (3, None)


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        pytest.param("add", "add", id="known"),
        pytest.param("functions.add", "add", id="prefix"),
        pytest.param("add<|channel|>look", "add_channel_look", id="two are known"),
        pytest.param("ad", "ad", id="unknown"),
        pytest.param("", "unnamed", id="empty"),
    ],
)
def test_names_are_spelled_as_endpoints_take_them(written: str, spelled: str) -> None:
    assert ToolRegistry([add, look]).spelled(written) == spelled


@pytest.mark.parametrize("make", [tool, lambda function: function], ids=["tool", "function"])
def test_the_callers_own_tool_is_left_as_it_is(make: Callable[..., Any]) -> None:
    mine = make(add)

    ToolRegistry([mine])

    assert getattr(mine, "coroutine", None) is None
