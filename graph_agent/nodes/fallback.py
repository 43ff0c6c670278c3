"""Goes on with the next model where the one in use keeps failing."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, cast

from langgraph.runtime import Runtime

from graph_agent.deps import Deps
from graph_agent.errors import ModelError
from graph_agent.limits import spent
from graph_agent.models.fallbacks import another_may_do
from graph_agent.nodes.guard_context import guard_context
from graph_agent.nodes.reporting import Node
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, RunUsage, Switched, Turn, Update
from graph_agent.usage import no_usage

logger = logging.getLogger(__name__)


def with_fallbacks(node: Node) -> Node:
    """Let `think` try again, in the same iteration, with each model that may take over.

    The prompt is made to fit the window of the next one first. `turn` keeps which one is in use.
    """

    @wraps(node)
    async def asked(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
        deps, changed = deps.for_run(runtime), Update()
        thinking = OneThinking(runtime.stream_writer)
        try:
            while True:
                try:
                    inner = runtime.override(stream_writer=thinking.write)
                    return Update(**{**changed, **await node(state, inner, deps=deps)})
                except ModelError as error:
                    turn = switched_turn(state.turn, state.usage, deps, error)
                    if turn is None:
                        raise
                deps = deps.using(turn["switched"]["model"])
                fitted = await guard_context(replace(state, turn=turn), runtime, deps=deps)
                changed = Update(**{**changed, **fitted, "turn": turn})
                # What that node writes are marks, which have one type in both.
                state = replace(state, **cast("dict[str, Any]", changed))
        finally:
            thinking.end()

    return asked


def switched_turn(turn: Turn, usage: RunUsage | None, deps: Deps, error: ModelError) -> Turn | None:
    """Put the next model into use, and say so in the log; None where nothing can take over."""
    if not deps.fallbacks or not another_may_do(error):
        return None
    following, failed = deps.fallbacks[0].name, deps.model.name
    logger.warning("model %s failed, %s takes over in this run: %s", failed, following, error)
    usage, fast = usage or no_usage(), deps.fast_model or deps.model
    money = spent(turn, usage, deps.model.prices, fast.prices)
    return Turn(**{**turn, "switched": Switched(model=following, usage=usage, spent=money)})


@dataclass
class OneThinking:
    """Shows several tries to think as one: it starts with the first, and ends with the last."""

    _write: Callable[[Any], None]
    _started: bool = False
    _ends: list[Any] = field(default_factory=list)

    def write(self, event: Any) -> None:
        """Pass an event on, or keep it for the end."""
        match event["data"]:
            case {"type": "thinking", "status": "done"}:
                self._ends = [event]
            case {"type": "thinking", "status": "start"} if self._started:
                pass
            case data:
                self._started = self._started or data.get("type") == "thinking"
                self._write(event)

    def end(self) -> None:
        """Tell the end that was kept."""
        for event in self._ends:
            self._write(event)
