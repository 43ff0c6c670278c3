"""Tools from MCP servers, by the `mcp` extra."""

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict

from graph_agent.errors import ConfigError


class McpServer(BaseModel):
    """One `[mcp.servers.<name>]` table: a command to start, or an address."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str | None = None
    """A program that speaks MCP on its standard input and output."""
    args: list[str] = []
    env: dict[str, str] = {}
    """Variables that the program gets besides its own."""
    url: str | None = None
    """An address, in place of a command."""
    transport: Literal["streamable_http", "sse"] = "streamable_http"
    """How the address is spoken to."""

    def connection(self) -> dict[str, Any]:
        """Return what the adapters' client takes."""
        if self.url is not None:
            return {"transport": self.transport, "url": self.url}
        return {"transport": "stdio", "command": self.command, "args": self.args, "env": self.env}


async def mcp_tools(servers: Mapping[str, McpServer]) -> list[BaseTool]:
    """Ask each server for its tools; a call opens a session of its own.

    Raises:
        ConfigError: The extra is missing, or a server cannot be started or reached.
    """
    if not servers:
        return []
    try:
        # Optional: the extra `mcp` brings it.
        from langchain_mcp_adapters.client import MultiServerMCPClient  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError("MCP servers need an extra: `pip install 'graph-agent[mcp]'`.") from error
    connections: Any = {name: server.connection() for name, server in servers.items()}
    client = MultiServerMCPClient(connections)
    tools: list[BaseTool] = []
    for name in servers:
        try:
            tools += await client.get_tools(server_name=name)
        except Exception as error:
            raise ConfigError(
                f"The MCP server `{name}` gave no tools: {_cause(error)}. "
                "Check its command or address in the config file."
            ) from error
    return tools


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
