"""The graph that `langgraph dev` and LangGraph Studio load: as configured, without a database.

The server calls the factory at every request, reads too, and brings its own checkpointer and store.
"""

import asyncio
from functools import cache
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from graph_agent.config import load_config
from graph_agent.deps import Deps
from graph_agent.errors import ConfigError
from graph_agent.graph import compile_graph
from graph_agent.models.language_model import LanguageModel
from graph_agent.settings import Settings
from graph_agent.sync_graph import AgentGraph
from graph_agent.tools.registry import ToolRegistry


async def react() -> AgentGraph:
    """Return the graph; the first call makes it, in a thread, for it reads files and looks around.

    Where something is set up wrong, or no model at all, the graph can still be drawn and its
    threads read; a run then says what is wrong, and each call looks again.
    """
    try:
        return await asyncio.to_thread(configured)
    except ConfigError as error:
        model = LanguageModel.of(MissingModel(reason=str(error)))
        return compile_graph(Deps(model=model, tools=ToolRegistry(), settings=Settings()))


@cache
def configured() -> AgentGraph:
    """Make the graph that `graph-agent.toml` and the environment describe.

    Raises:
        ConfigError: Something in them is wrong, or there is no model.
    """
    return compile_graph(load_config().deps())


class MissingModel(BaseChatModel):
    """Stands where no model could be set up, and says why when it is asked."""

    reason: str

    @property
    def _llm_type(self) -> str:
        return "missing"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise ConfigError(self.reason)
