"""Reads `graph-agent.toml` and the environment, and makes the agent that they describe."""

import os
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from graph_agent.agent import ReActAgent
from graph_agent.bridge import run_sync
from graph_agent.deps import Deps
from graph_agent.errors import ConfigError
from graph_agent.hooks import Hooks
from graph_agent.hooks.patterns import asking, matching
from graph_agent.models.registry import ModelRegistry
from graph_agent.models.spec import ModelSpec
from graph_agent.plugins import named_hook, named_tool
from graph_agent.settings import Settings, describe
from graph_agent.tools.builtin import BUILTIN
from graph_agent.tools.mcp import McpServer, mcp_tools
from graph_agent.tools.registry import Tool, ToolRegistry

FILE_NAME = "graph-agent.toml"


class ToolsConfig(BaseModel):
    """The `[tools]` table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    use: list[str] = list(BUILTIN)
    """Names of shipped tools, and `module:name` of your own."""
    root: str = "."
    """The folder below which files are searched and read."""
    ask: list[str] = []
    """Shell patterns: a person decides about each call of a tool whose name matches one."""


class HooksConfig(BaseModel):
    """The `[hooks]` table: functions of your own, as `module:name`; see `graph_agent.hooks`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pre_tool_use: str | None = None
    """Allows, denies or changes a call before it runs, or asks a person."""
    post_tool_use: str | None = None
    """Changes what the model reads of a result."""


class McpConfig(BaseModel):
    """The `[mcp]` table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    servers: dict[str, McpServer] = {}
    """MCP servers whose tools are offered, by a name of your choice."""


class FileConfig(BaseModel):
    """What the file may hold; an unknown key is an error that names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    default_model: str | None = None
    fast_model: str | None = None
    """Selects tools and summarises."""
    models: dict[str, ModelSpec] = {}
    agent: dict[str, Any] = {}
    """Settings by their names."""
    tools: ToolsConfig = ToolsConfig()
    hooks: HooksConfig = HooksConfig()
    mcp: McpConfig = McpConfig()


class Config:
    """Everything that was set up, read and checked once."""

    def __init__(
        self,
        file: FileConfig,
        *,
        environ: Mapping[str, str] = os.environ,
        keywords: Mapping[str, Any] | None = None,
    ) -> None:
        self.file = file
        self.settings = Settings.load(environ, file=file.agent, keywords=keywords)
        self.models = ModelRegistry(
            file.models, default=file.default_model, settings=self.settings, environ=environ
        )

    def tools(self) -> list[Tool]:
        """Build the tools that the file names, and ask MCP servers for theirs.

        Raises:
            ConfigError: There is no such tool, or a server gives none.
        """
        root = Path(self.file.tools.root)
        named = [named_tool(name, root) for name in self.file.tools.use]
        return [*named, *run_sync(mcp_tools(self.file.mcp.servers))]

    def deps(self, model: str | None = None) -> Deps:
        """Put together what the nodes need, with the model of that name or the one set up.

        Raises:
            ConfigError: There is no such model, or no model at all; or a hook or
                a pattern of tools to ask about is wrong.
        """
        fast, tools = self.file.fast_model, ToolRegistry(self.tools())
        return Deps(
            model=self.models.get(model),
            tools=tools,
            settings=self.settings,
            models=self.models,
            fast_model=self.models.get(fast) if fast else None,
            hooks=self._hooks(tools.names()),
        )

    def agent(self, model: str | None = None) -> ReActAgent:
        """Make the agent, with the model of that name or the one that was set up.

        Raises:
            ConfigError: There is no such model, or no model at all; or a hook or
                a pattern of tools to ask about is wrong.
        """
        deps = self.deps(model)
        return ReActAgent(
            deps.model,
            deps.tools,
            models=self.models,
            fast_model=deps.fast_model,
            pre_tool_use=deps.hooks.pre_tool_use,
            post_tool_use=deps.hooks.post_tool_use,
            **self.settings.model_dump(),
        )

    def _hooks(self, tools: Collection[str]) -> Hooks:
        """Import the hooks that the file names, and ask a person where it says so."""
        named = self.file.hooks
        before = None if named.pre_tool_use is None else named_hook(named.pre_tool_use)
        after = None if named.post_tool_use is None else named_hook(named.post_tool_use)
        return Hooks(
            pre_tool_use=asking(matching(self.file.tools.ask, tools), before),
            post_tool_use=after,
        )


def load_config(
    path: Path | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    **keywords: Any,
) -> Config:
    """Read the config file, if there is one, and the environment.

    Args:
        path: The file; None means `GRAPH_AGENT_CONFIG`, else `graph-agent.toml` in the working
            folder, else none.
        environ: The environment.
        keywords: Settings that win over both.

    Raises:
        ConfigError: A file that was named is missing, or something in it is wrong.
    """
    named = path or (Path(found) if (found := environ.get("GRAPH_AGENT_CONFIG")) else None)
    file = named or Path(FILE_NAME)
    if named is None and not file.exists():
        return Config(FileConfig(), environ=environ, keywords=keywords)
    return Config(_read(file), environ=environ, keywords=keywords)


def _read(path: Path) -> FileConfig:
    try:
        return FileConfig.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"The config file {path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"The config file {path} is no valid TOML: {error}.") from error
    except ValidationError as error:
        raise ConfigError(describe(error, source=str(path))) from error
