"""Stops a run at a limit of tokens, money or time, so that it ends with an answer."""

import asyncio
from dataclasses import replace
from functools import wraps

from langgraph.runtime import Runtime

from graph_agent.deps import Deps
from graph_agent.limits import limit_reached, loop_seconds, spent
from graph_agent.nodes.reporting import Node
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Resumed, StopReason, Turn, Update
from graph_agent.usage import no_usage


def within_limits(node: Node) -> Node:
    """Let a node of the loop set `stop_reason` in place of its work, or when its time runs out."""

    @wraps(node)
    async def limited(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
        deps = deps.for_run(runtime)
        timed = timed_turn(state, runtime, deps)
        state = replace(state, turn=timed)
        reason = state.stop_reason or _reached(state, deps)
        if reason is not None:
            return Update(stop_reason=reason, turn=timed)
        try:
            async with asyncio.timeout(loop_time_left(state, deps)) as patience:
                update = await node(state, runtime, deps=deps)
        except TimeoutError:
            if not patience.expired():
                raise
            return Update(stop_reason="time_limit", turn=timed)
        return update if "resumed" not in timed else Update(**{"turn": timed, **update})

    return limited


def timed_turn(state: AgentState, runtime: Runtime[RunOptions], deps: Deps) -> Turn:
    """Return the turn, with the time when it was taken up again if that was just now."""
    info, turn = runtime.execution_info, state.turn
    known = turn.get("resumed", {"run_id": turn["run_id"]})["run_id"]
    if deps.settings.run_timeout is None or not info or info.run_id in (None, known):
        return turn
    return Turn(**{**turn, "resumed": Resumed(run_id=info.run_id, at=deps.now())})


def loop_time_left(state: AgentState, deps: Deps) -> float | None:
    """Return the seconds that the loop may still take, 0 at least; None: as long as it likes."""
    seconds = loop_seconds(deps.settings.run_timeout)
    return None if seconds is None else max(0.0, seconds - _elapsed(state, deps))


def answer_time_left(state: AgentState, deps: Deps) -> float | None:
    """Return the seconds left for writing the answer, 0 at least; None: as long as it likes."""
    if deps.settings.run_timeout is None:
        return None
    return max(0.0, deps.settings.run_timeout - _elapsed(state, deps))


def _reached(state: AgentState, deps: Deps) -> StopReason | None:
    usage = state.usage or no_usage()
    fast = deps.fast_model or deps.model
    money = spent(state.turn, usage, deps.model.prices, fast.prices)
    return limit_reached(usage, deps.settings, elapsed=_elapsed(state, deps), spent=money)


def _elapsed(state: AgentState, deps: Deps) -> float:
    resumed = state.turn.get("resumed")
    return deps.now() - (resumed["at"] if resumed else state.turn["started_at"])
