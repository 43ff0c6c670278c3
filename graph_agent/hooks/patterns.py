"""Asks a person about every call of some tools, where the host's own hook lets the call run."""

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from graph_agent.errors import ConfigError
from graph_agent.hooks import (
    Allow,
    Ask,
    Change,
    Deny,
    PreToolUse,
    ToolUse,
    Verdict,
    called,
    verdict_of,
)

CHANGED = "its arguments were changed, and a person who is asked would not see the new ones"


def matching(patterns: Iterable[str], names: Collection[str]) -> frozenset[str]:
    """Return the names that match one of the shell patterns.

    >>> sorted(matching(["send_*", "pay"], ["send_mail", "pay", "paint"]))
    ['pay', 'send_mail']

    Raises:
        ConfigError: A pattern matches none of them.
    """
    found = {pattern: {n for n in names if fnmatchcase(n, pattern)} for pattern in patterns}
    for pattern, tools in found.items():
        if not tools:
            raise ConfigError(
                f"`tools.ask` has `{pattern}`, and no tool is called so. "
                f"The tools are: {', '.join(names) or 'none'}."
            )
    return frozenset[str]().union(*found.values())


def asking(tools: Collection[str], hook: PreToolUse | None) -> PreToolUse | None:
    """Return a hook that lets a person decide about the tools of these names.

    Args:
        tools: Names.
        hook: Is asked first; what it denies is denied, what it allows waits for the person, and
            what it changes is denied, for a person cannot be shown the change.
    """
    if not tools:
        return hook

    async def decide(use: ToolUse) -> Verdict:
        verdict = Allow() if hook is None else verdict_of(await called(hook, use))
        if use.tool_name not in tools:
            return verdict
        match verdict:
            case Allow():
                return Ask()
            case Change():
                return Deny(CHANGED)
        return verdict

    return decide
