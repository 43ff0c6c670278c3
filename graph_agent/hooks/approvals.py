"""Which calls of a paused run wait for a person, and whether each gets a decision."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from langgraph.types import Command, Interrupt, StateSnapshot

from graph_agent.errors import ApprovalNeededError, ConfigError
from graph_agent.hooks import decision

Decisions: TypeAlias = str | Mapping[str, Any]
"""One for all calls, `"allow"` or `"deny"`, or one for each by its `interrupt_id` or `call_id`."""


def waiting_calls(snapshot: StateSnapshot) -> list[dict[str, Any]]:
    """List what waits: `interrupt_id`, `call_id`, `tool_name` and `tool_args` of each call.

    Of a tool that calls LangGraph's `interrupt` by itself, only what it gave is known.
    """
    return [call for each in snapshot.interrupts for call in _calls(each)]


def _calls(each: Interrupt) -> list[dict[str, Any]]:
    asked = each.value.get("approvals") if isinstance(each.value, dict) else None
    return asked if isinstance(asked, list) else [{"interrupt_id": each.id, "value": each.value}]


def decided(thread_id: str, snapshot: StateSnapshot, decisions: Decisions | None) -> Command[str]:
    """Return what goes on with a paused run.

    Raises:
        ApprovalNeededError: A call waits, and there is no decision about it.
        ConfigError: A decision is none, or about a call that does not wait.
    """
    calls = waiting_calls(snapshot)
    if decisions is None:
        raise ApprovalNeededError(thread_id, calls)
    if not all("call_id" in call for call in calls):
        # A tool asked by itself, and knows what to make of the answer.
        return Command(resume={each.id: decisions for each in snapshot.interrupts})
    if isinstance(decisions, str):
        decisions = {call["interrupt_id"]: decisions for call in calls}
    given = _by_id(decisions, calls)
    if open_ones := [call for call in calls if call["interrupt_id"] not in given]:
        raise ApprovalNeededError(thread_id, open_ones)
    return Command(resume={each.id: given for each in snapshot.interrupts})


def _by_id(decisions: Mapping[str, Any], calls: list[dict[str, Any]]) -> dict[str, Any]:
    keys = ("call_id", "interrupt_id")
    known = {call[key]: call["interrupt_id"] for key in keys for call in calls}
    for name, value in decisions.items():
        if name not in known:
            raise ConfigError(
                f"No call {name!r} waits for a decision. Those that wait: {', '.join(known)}."
            )
        try:
            decision(value)
        except ValueError as error:
            raise ConfigError(f"In `decisions`: {error}.") from None
    return {known[name]: value for name, value in decisions.items()}
