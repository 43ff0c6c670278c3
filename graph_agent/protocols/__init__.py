"""How a turn is put to a model and read back; state never knows which protocol was used."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_core.messages import AIMessage, BaseMessage

from graph_agent.models.language_model import LanguageModel
from graph_agent.state import Mode


@dataclass(frozen=True, kw_only=True)
class Move:
    """What the model does next, in native form."""

    messages: Sequence[BaseMessage]
    """What joins the thread: the reply, and what has to follow it."""
    reasoning: str
    replies: Sequence[AIMessage]
    """As the endpoint gave them, for what they used; the move is the last one."""
    mode: Mode
    """How the last one was asked for."""
    calls_as_text: bool = False
    """Calls that fit came as text, although the API offered tools: JSON mode suits it better."""

    @property
    def is_empty(self) -> bool:
        """True where the model neither called a tool nor said anything."""
        first = self.messages[0]
        return not (isinstance(first, AIMessage) and (first.tool_calls or first.text.strip()))


class TurnProtocol(Protocol):
    """One way to offer tools to a model."""

    mode: Mode

    async def ask(self, model: LanguageModel, view: Sequence[BaseMessage]) -> Move:
        """Put the conversation to the model and read its move.

        Raises:
            ModelError: The endpoint failed.
        """
        ...

    def overhead(self) -> int:
        """Estimate the tokens that a request takes besides the conversation."""
        ...
