"""Lets a run answer with its draft where the check of it cannot be made."""

import logging
from functools import wraps

from langgraph.runtime import Runtime

from graph_agent.deps import Deps
from graph_agent.errors import ModelError
from graph_agent.nodes.reporting import Node
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update, marked

logger = logging.getLogger(__name__)


def keeping_draft(node: Node) -> Node:
    """Let neither a limit nor a failing model take away an answer that only waits for its check.

    The answer was there before the check, so the run then ends with it, and as `final`.
    """

    @wraps(node)
    async def kept(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
        if marked(state.messages[-1]) != "check":
            return await node(state, runtime, deps=deps)
        try:
            update = await node(state, runtime, deps=deps)
        except ModelError as error:
            logger.warning("the check of the answer failed, the draft stands: %s", error)
            return Update(stop_reason="final", iteration=state.iteration + 1)
        return Update(**{**update, "stop_reason": "final"}) if "stop_reason" in update else update

    return kept
