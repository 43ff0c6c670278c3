"""The algorithm: one file for each node, in the order of the picture in `graph.py`."""

from graph_agent.nodes.act import act
from graph_agent.nodes.drain_interrupts import drain_interrupts
from graph_agent.nodes.guard_context import guard_context
from graph_agent.nodes.select_tools import select_tools
from graph_agent.nodes.synthesize import synthesize
from graph_agent.nodes.think import think

__all__ = ["act", "drain_interrupts", "guard_context", "select_tools", "synthesize", "think"]
