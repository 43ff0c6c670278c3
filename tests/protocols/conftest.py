"""A tool registry, and a way to put one reply before a protocol."""

from typing import Literal

import pytest

from graph_agent.tools.registry import ToolRegistry


def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


def pick(color: Literal["red", "blue"], tags: list[str] | None = None) -> str:
    """Pick a color."""
    return color


@pytest.fixture
def tools() -> ToolRegistry:
    return ToolRegistry([add, pick])
