"""Adapts tools to the engine: results become text, and sync functions run in threads."""

import math
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any

from anyio import CapacityLimiter, to_thread
from langchain_core.tools import BaseTool, StructuredTool, Tool, ToolException
from pydantic import ValidationError

from graph_agent.tools.result_text import readable

AsyncFunction = Callable[..., Awaitable[Any]]


def adapted(tool: BaseTool) -> BaseTool:
    """Return the tool with its function wrapped; a tool that has none stays as it is.

    LangChain would write None as `null` and most data as Python, and would run sync functions
    in the event loop's few threads, where those that hang keep out all others.
    """
    if not isinstance(tool, StructuredTool | Tool):
        return tool
    function = tool.coroutine or _threaded(tool.func)
    with_artifact = tool.response_format == "content_and_artifact"
    return tool.model_copy(update={"coroutine": _readable(function, with_artifact=with_artifact)})


def _threaded(function: Callable[..., Any] | None) -> AsyncFunction:
    assert function is not None, "LangChain makes no such tool without a function"

    @wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        return await to_thread.run_sync(
            partial(function, *args, **kwargs),
            # A time-out ends the wait, not the thread; `tool_concurrency` is the bound.
            abandon_on_cancel=True,
            limiter=CapacityLimiter(math.inf),
        )

    return run


def _readable(function: AsyncFunction, *, with_artifact: bool) -> AsyncFunction:
    @wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        try:
            result = await function(*args, **kwargs)
        except ValidationError as error:
            # LangGraph would take it for a fault of the model's arguments.
            raise ToolException(f"{type(error).__name__}: {error}") from error
        if with_artifact and isinstance(result, tuple) and len(result) == 2:
            return readable(result[0]), result[1]
        return result if with_artifact else readable(result)

    return run
