"""Draws the agent's graph."""

from langchain_core.language_models import FakeListChatModel

from graph_agent.graph import build_graph


def picture() -> str:
    """Return the graph in Mermaid; it is the same for every model, so none has to be set up."""
    return build_graph(FakeListChatModel(responses=[])).get_graph().draw_mermaid().rstrip()
