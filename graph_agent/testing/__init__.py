"""What tests of agents need: a scripted model, a strict endpoint, a check of event order."""

from graph_agent.testing.scripted import ScriptedChatModel

__all__ = ["ScriptedChatModel"]
