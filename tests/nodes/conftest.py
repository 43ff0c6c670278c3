"""What a node is given: dependencies, and a runtime that keeps what it emits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from langgraph.runtime import ExecutionInfo, Runtime
from langgraph.store.memory import InMemoryStore

from graph_agent import Settings
from graph_agent.deps import Deps
from graph_agent.models.language_model import LanguageModel
from graph_agent.settings import RunOptions
from graph_agent.testing import ScriptedChatModel
from graph_agent.tools.registry import ToolRegistry


@dataclass
class Stagehand:
    """A node's runtime, and what it emitted."""

    events: list[Any] = field(default_factory=list)
    store: InMemoryStore = field(default_factory=InMemoryStore)

    @property
    def runtime(self) -> Runtime[RunOptions]:
        info = ExecutionInfo(
            checkpoint_id="", checkpoint_ns="", task_id="", thread_id="t", run_id="run"
        )
        return Runtime(store=self.store, stream_writer=self.events.append, execution_info=info)


@pytest.fixture
def stagehand() -> Stagehand:
    return Stagehand()


@pytest.fixture
def make_deps() -> Callable[..., Deps]:
    """Make dependencies around a scripted model."""

    def make(*replies: Any, tools: Any = (), known: Any = None, **settings: Any) -> Deps:
        model = LanguageModel.of(ScriptedChatModel(replies=list(replies)), **(known or {}))
        chosen = Settings(database="memory:", **settings)
        return Deps(model=model, tools=ToolRegistry(tools), settings=chosen, now=lambda: 7.0)

    return make
