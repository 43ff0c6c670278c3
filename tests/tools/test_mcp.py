"""Tools from a real MCP server in a process of its own."""

import sys
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage

from graph_agent import ConfigError, ReActAgent
from graph_agent.testing import ScriptedChatModel
from graph_agent.tools.mcp import McpServer, mcp_tools

pytestmark = pytest.mark.anyio

SERVER = '''
from mcp.server.fastmcp import FastMCP

server = FastMCP("test", log_level="ERROR")


@server.tool()
def shout(text: str) -> str:
    """Say it loudly."""
    if not text:
        raise ValueError("nothing to shout")
    return text.upper()


server.run()
'''


@pytest.fixture
def servers(tmp_path: Path) -> dict[str, McpServer]:
    script = tmp_path / "server.py"
    script.write_text(SERVER, encoding="utf-8")
    return {"voice": McpServer(command=sys.executable, args=[str(script)])}


async def test_an_agent_calls_tools_of_a_server(servers: dict[str, McpServer]) -> None:
    tools = await mcp_tools(servers)
    calls = [
        {"id": f"c{number}", "name": "shout", "args": {"text": text}}
        for number, text in enumerate(["hi", ""])
    ]
    model = ScriptedChatModel(replies=[AIMessage("", tool_calls=calls), "HI", "HI"])

    async with ReActAgent(model, tools, database="memory:") as agent:
        result = await agent.run("Shout hi.")

    assert [(step.observation, step.error) for step in result.steps] == [
        ("HI", False),
        ("Error executing tool shout: nothing to shout", True),
    ]


async def test_a_server_that_does_not_start_is_named() -> None:
    with pytest.raises(ConfigError, match=r"The MCP server `voice` gave no tools: FileNotFound"):
        await mcp_tools({"voice": McpServer(command="/does/not/exist")})


async def test_no_servers_means_no_tools() -> None:
    assert await mcp_tools({}) == []
