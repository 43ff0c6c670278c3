"""Asks again with a smaller prompt where the endpoint says that it does not fit its window."""

import logging
from dataclasses import replace
from functools import wraps
from typing import Any, cast

from langgraph.runtime import Runtime

from graph_agent.context.prompt import prompt_of
from graph_agent.deps import Deps
from graph_agent.errors import ContextOverflowError
from graph_agent.nodes.guard_context import guard_context
from graph_agent.nodes.reporting import Node
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update
from graph_agent.trace import run_messages, step_records

logger = logging.getLogger(__name__)

MOST_SMALLER = 3
"""Further tries in one iteration, each with a smaller prompt."""


def with_smaller_prompts(node: Node) -> Node:
    """Let `think` try again, in the same iteration, with less of the thread.

    What did not fit is remembered for the endpoint, so that it is not found out at every step.
    Where nothing more can be left out, the run ends with an answer from what was found until then.
    """

    @wraps(node)
    async def asked(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
        deps, changed, tries = deps.for_run(runtime), Update(), 0
        while True:
            try:
                return Update(**{**changed, **await node(state, runtime, deps=deps)})
            except ContextOverflowError as error:
                smaller = await _smaller(state, runtime, deps) if tries < MOST_SMALLER else None
                if not smaller and not step_records(run_messages(state)):
                    raise
                if not smaller:
                    logger.warning("the run ends with what was found: %s", error)
                    return Update(**{**changed, "stop_reason": "error"})
                logger.warning("asking again with a smaller prompt: %s", error)
            tries, changed = tries + 1, Update(**{**changed, **smaller})
            # What that node writes are marks and usage, which have one type in both.
            state = replace(state, **cast("dict[str, Any]", smaller))

    return asked


async def _smaller(state: AgentState, runtime: Runtime[RunOptions], deps: Deps) -> Update:
    """Remember the size that did not fit, and compact; an empty update where nothing is gained."""
    tokens = deps.protocol(state).overhead() + prompt_of(state, deps.caps).tokens
    deps.model.endpoint.learn_overflow(tokens)
    return await guard_context(state, runtime, deps=deps)
