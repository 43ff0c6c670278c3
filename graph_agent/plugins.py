"""Finds the tools and hooks that a configuration names: shipped ones, or `module:name`."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graph_agent.errors import ConfigError
from graph_agent.tools.builtin import BUILTIN
from graph_agent.tools.registry import Tool


def named_tool(name: str, root: Path) -> Tool:
    """Return the shipped tool of that name, or import `module:name`.

    Raises:
        ConfigError: There is no such tool.
    """
    if name in BUILTIN:
        return BUILTIN[name](root)
    if ":" not in name:
        known = ", ".join(BUILTIN)
        raise ConfigError(f"There is no tool `{name}`. Shipped: {known}; yours: `module:name`.")
    tool: Tool = _imported(name, "tool")
    return tool


def named_hook(name: str) -> Callable[..., Any]:
    """Import a hook by `module:name`.

    Raises:
        ConfigError: There is no such function.
    """
    hook: Callable[..., Any] = _imported(name, "hook")
    if not callable(hook):
        raise ConfigError(f"The hook `{name}` is no function, but {hook!r}.")
    return hook


def _imported(name: str, kind: str) -> Any:
    module, _, attribute = name.partition(":")
    if not attribute:
        raise ConfigError(f"The {kind} `{name}` is not written as `module:name`.")
    # The terminal's entry point does not look into the working folder, where such code is kept.
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"The {kind} `{name}` cannot be imported: {error}.") from error
