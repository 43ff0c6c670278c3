"""What tests of agents need: a scripted model, a strict endpoint, a check of event order."""

from graph_agent.testing.endpoint import StrictEndpoint
from graph_agent.testing.event_order import check_events
from graph_agent.testing.replies import (
    Deltas,
    Drop,
    Gate,
    Held,
    HttpError,
    RawBytes,
    Silence,
)
from graph_agent.testing.scripted import ScriptedChatModel

__all__ = [
    "Deltas",
    "Drop",
    "Gate",
    "Held",
    "HttpError",
    "RawBytes",
    "ScriptedChatModel",
    "Silence",
    "StrictEndpoint",
    "check_events",
]
