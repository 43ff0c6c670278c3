"""Makes a prompt fit without a model: the oldest exchanges go first, whole."""

from langchain_core.messages import BaseMessage

from graph_agent.context.exchanges import Exchange, exchanges
from graph_agent.context.tokens import message_tokens
from graph_agent.context.view import clipped
from graph_agent.state import AgentState, marked


def cut_point(state: AgentState, *, room: int, message_cap: int) -> int:
    """Find the cut from which on the messages take at most `room` tokens.

    The run's question and its pinned messages are shown wherever the cut is, and the newest
    exchange is never cut away.

    Args:
        state: The thread.
        room: Tokens that messages may take.
        message_cap: Tokens that one message may take.

    Returns:
        An index into `state.messages`, never before the present cut.
    """
    pieces = list(exchanges(state.messages, state.cut))
    left = room - sum(
        message_tokens(clipped(message, message_cap))
        for index, message in enumerate(state.messages)
        if _always_kept(state, index, message)
    )
    cut = len(state.messages)
    for number, piece in enumerate(reversed(pieces)):
        left -= _size(piece, state, message_cap)
        if left < 0 and number > 0:
            return cut
        cut = piece.start
    return state.cut


def _always_kept(state: AgentState, index: int, message: BaseMessage) -> bool:
    start = state.turn["start"]
    return index == start or (index > start and marked(message) == "interrupt")


def _size(piece: Exchange, state: AgentState, cap: int) -> int:
    if _always_kept(state, piece.start, piece.messages[0]):
        return 0
    return sum(message_tokens(clipped(message, cap)) for message in piece.messages)
