"""Tells whether anybody listens to LangChain's callbacks: tracers, token counters, streams."""

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.globals import get_debug, get_llm_cache, get_verbose
from langchain_core.runnables.config import var_child_runnable_config


def nobody_listens(config: Mapping[str, Any] | None = None) -> bool:
    """Tell whether a call inside a run may pass LangChain's preparations by.

    They take a third of a millisecond for each call, and grow with the thread. LangGraph has set
    up who listens to a run; outside of one, LangChain finds out.

    Args:
        config: What the call is given besides what surrounds it.
    """
    around = var_child_runnable_config.get()
    if around is None or around.get("callbacks") is None:
        return False
    if _handlers(around["callbacks"]) or _handlers((config or {}).get("callbacks")):
        return False
    return not (get_debug() or get_verbose() or get_llm_cache())


def _handlers(callbacks: Any) -> bool:
    if isinstance(callbacks, BaseCallbackManager):
        return bool(callbacks.handlers)
    return bool(callbacks)
