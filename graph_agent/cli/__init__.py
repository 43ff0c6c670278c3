"""The command line: `graph-agent`."""

from graph_agent.cli.app import main

__all__ = ["main"]
