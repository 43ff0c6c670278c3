"""Who is measured: each contender's adapter, and the environment that it runs in."""

import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.contract import Place

ROOT = Path(__file__).parent.parent
ENVIRONMENTS = ROOT / ".venv-bench"


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One loop, one way to set it up."""

    name: str
    opens: str
    """Module below `benchmarks.adapters`, and the function in it that opens the contender."""
    environment: str | None = None
    """Folder below `.venv-bench`; None is our own environment."""
    on_postgres: bool = False

    @property
    def is_at_hand(self) -> bool:
        """Whether our own environment and no server is all that it takes."""
        return self.environment is None and not self.on_postgres

    @property
    def python(self) -> str:
        """The interpreter of its environment."""
        if self.environment is None:
            return sys.executable
        python = ENVIRONMENTS / self.environment / "bin" / "python"
        if not python.exists():
            sys.exit(f"{self.name} has no environment yet: `make bench-environments` sets it up.")
        return str(python)

    def open(self, place: Place) -> AbstractAsyncContextManager[Any]:
        """Open it: what comes out depends on the adapter; see `contract`."""
        return opening(self.opens)(place)


def opening(path: str) -> Callable[[Place], AbstractAsyncContextManager[Any]]:
    """Load an adapter's function; each process loads one adapter, for its library alone."""
    module, _, function = path.partition(":")
    opens: Callable[[Place], AbstractAsyncContextManager[Any]]
    opens = getattr(import_module(f"benchmarks.adapters.{module}"), function)
    return opens


ALL = (
    Contender(name="httpx", opens="raw_httpx:opened"),
    Contender(name="SDK", opens="openai_sdk:opened"),
    Contender(name="SDK, bypass", opens="openai_sdk:bypassing"),
    Contender(name="create_agent", opens="create_agent:unsaved"),
    Contender(name="create_agent, SQLite", opens="create_agent:on_sqlite"),
    Contender(name="openai-agents", opens="openai_agents_loop:opened", environment="openai-agents"),
    Contender(name="pydantic-ai", opens="pydantic_ai_loop:opened", environment="pydantic-ai"),
    Contender(name="smolagents", opens="smolagents_loop:opened", environment="smolagents"),
    Contender(name="ours, memory", opens="ours:in_memory"),
    Contender(name="ours, SQLite", opens="ours:on_sqlite"),
    Contender(name="ours, Postgres", opens="ours:on_postgres", on_postgres=True),
    Contender(name="ours, memory, JSON", opens="ours:in_memory_json"),
    Contender(name="ours, SQLite, JSON", opens="ours:on_sqlite_json"),
    Contender(name="ours, Postgres, JSON", opens="ours:on_postgres_json", on_postgres=True),
    Contender(name="ours, SQLite, no events", opens="ours:on_sqlite_unheard"),
    Contender(name="ours, SQLite, server", opens="ours_served:opened"),
    Contender(name="create_agent, SQLite, server", opens="create_agent_served:opened"),
)

CONTENDERS = {contender.name: contender for contender in ALL}


def on_postgres(name: str) -> bool:
    """Tell whether what stands in a report by this name needs a server."""
    return name in CONTENDERS and CONTENDERS[name].on_postgres
