"""The user's message, as it enters a thread."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import HumanMessage

from graph_agent.errors import ConfigError
from graph_agent.plain_text import cleaned

Message = str | Sequence[str | dict[str, Any]]
"""Text, or content blocks."""


def question(message: Message) -> HumanMessage:
    """Make the user's message, with an id of its own.

    Raises:
        ConfigError: It is empty.
    """
    content = cleaned(message if isinstance(message, str) else list(message))
    if not content or (isinstance(content, str) and not content.strip()):
        raise ConfigError("The message is empty. Write a question.")
    return HumanMessage(content, id=str(uuid4()))
