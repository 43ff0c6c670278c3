"""Asks the host's hook about each call, and a person where the hook says so."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langgraph.func import task
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from graph_agent.deps import Deps
from graph_agent.events import Approval, emit
from graph_agent.hooks import (
    Allow,
    Ask,
    Change,
    Deny,
    ToolUse,
    Verdict,
    called,
    decision,
    verdict_of,
)
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState
from graph_agent.tools.run_call import Call

logger = logging.getLogger(__name__)

HOOK_FAILED = "the check before it failed"


async def permitted(
    calls: Sequence[Call], state: AgentState, runtime: Runtime[RunOptions], deps: Deps
) -> list[Call]:
    """Return the calls as they may run: as they are, changed, or denied.

    Where a person has to decide, the run pauses here; it goes on with what was decided. The hook is
    asked, and the person told, in tasks: when the node begins anew, neither happens again.
    """
    if deps.hooks.pre_tool_use is None:
        return list(calls)

    @task
    async def verdict(call: Call) -> dict[str, Any]:
        return _as_data(await _verdict(call, state, deps))

    @task
    async def announce(waiting: list[Call]) -> None:
        for call in waiting:
            emit(runtime.stream_writer, Approval(**_shown(call)))

    verdicts = await asyncio.gather(*(verdict(call) for call in calls))
    waiting = [call for call, told in zip(calls, verdicts, strict=True) if told == ASKED]
    decided: Any = {}
    if waiting:
        await announce(waiting)
        decided = interrupt({"approvals": [_shown(call) for call in waiting]})
    return [
        _decided(call, decided if told == ASKED else told)
        for call, told in zip(calls, verdicts, strict=True)
    ]


ASKED = {"ask": True}
"""A verdict as data: a person decides. The others are as a person writes them."""


async def _verdict(call: Call, state: AgentState, deps: Deps) -> Verdict:
    if call.invalid is not None or deps.hooks.pre_tool_use is None:
        return Allow()
    use = ToolUse(
        call_id=call.id, tool_name=call.name, tool_args=call.args, iteration=state.iteration
    )
    try:
        return verdict_of(await called(deps.hooks.pre_tool_use, use))
    except Exception:
        logger.exception("pre_tool_use failed for a call of %s, which is denied", call.name)
        return Deny(HOOK_FAILED)


def _as_data(verdict: Verdict) -> dict[str, Any]:
    match verdict:
        case Ask():
            return ASKED
        case Deny(reason):
            return {"denied": reason}
        case Change(args):
            return {"args": args}
    return {}


def _decided(call: Call, told: Any) -> Call:
    """Apply a verdict, or what a person decided: for all, or for each by the call's id."""
    match told:
        case {} if not told:
            return call
        case {"denied": reason}:
            return replace(call, denied=reason)
    if isinstance(told, dict) and not {"args", "deny"} & set(told):
        told = told.get(call.message_id, told.get(call.id, "deny"))
    try:
        verdict = decision(told)
    except ValueError as error:
        return replace(call, denied=str(error))
    match verdict:
        case Deny(reason):
            return replace(call, denied=reason)
        case Change(args):
            return replace(call, args=args, changed=True)
    return call


def _shown(call: Call) -> dict[str, Any]:
    return {
        "interrupt_id": call.message_id,
        "call_id": call.id,
        "tool_name": call.name,
        "tool_args": call.args,
    }
