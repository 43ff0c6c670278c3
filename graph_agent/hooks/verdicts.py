"""What a host may say about tool calls: before one runs, and about its result."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """A call that is about to run, or that ran."""

    call_id: str
    tool_name: str
    tool_args: dict[str, Any]
    iteration: int
    """The loop's model call that asked for it, from 1."""


@dataclass(frozen=True, kw_only=True)
class ToolOutcome:
    """What a call gave."""

    text: str
    """What the model will read."""
    error: bool
    """Whether it failed, or was not run."""


@dataclass(frozen=True)
class Allow:
    """Run the call as it is."""


@dataclass(frozen=True)
class Deny:
    """Do not run the call; the model is told why."""

    reason: str = "it is not allowed"


@dataclass(frozen=True)
class Change:
    """Run the call with other arguments; the model is told."""

    tool_args: dict[str, Any]


@dataclass(frozen=True)
class Ask:
    """Let a person decide: the run pauses, is saved, and goes on when it is resumed."""


Verdict: TypeAlias = Allow | Deny | Change | Ask
PreToolUse: TypeAlias = Callable[[ToolUse], Verdict | Awaitable[Verdict | None] | None]
"""Decides about a call; None allows it. One that fails denies it."""
PostToolUse: TypeAlias = Callable[[ToolUse, ToolOutcome], str | Awaitable[str | None] | None]
"""Returns the text that the model reads instead, also of calls that failed; None keeps it.

Where it fails the result is withheld: it may have been there to take something out.
"""


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """The hooks of an agent; they may be sync or async."""

    pre_tool_use: PreToolUse | None = None
    post_tool_use: PostToolUse | None = None


async def called(hook: Callable[..., Any], *given: object) -> Any:
    """Call a hook; a sync one in a thread, where it may wait for something."""
    if inspect.iscoroutinefunction(hook):
        return await hook(*given)
    result = await asyncio.to_thread(hook, *given)
    return await result if inspect.isawaitable(result) else result


def verdict_of(value: object) -> Verdict:
    """Read what a hook returned; None and true allow, false denies.

    Raises:
        TypeError: It is no verdict.
    """
    match value:
        case Allow() | Deny() | Change() | Ask():
            return value
        case None | True:
            return Allow()
        case False:
            return Deny()
    raise TypeError(f"pre_tool_use returned {value!r}, which is no Allow, Deny, Change or Ask")


def decision(value: Any) -> Allow | Deny | Change:
    """Read what a person decided: `"allow"`, `"deny"`, `{"deny": why}` or `{"args": {…}}`.

    Raises:
        ValueError: It is none of these.
    """
    match value:
        case "allow" | True:
            return Allow()
        case "deny" | False:
            return Deny("a person denied it")
        case {"deny": str(reason)}:
            return Deny(f"a person denied it: {reason}")
        case {"args": dict(args)}:
            return Change(args)
    raise ValueError(
        f'the decision {value!r} is none of "allow", "deny", {{"deny": "why"}}, {{"args": {{…}}}}'
    )
