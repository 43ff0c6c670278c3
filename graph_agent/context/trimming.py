"""Makes a prompt fit without a model: the oldest exchanges go first, whole."""

from graph_agent.context.exchanges import Exchange, exchanges
from graph_agent.context.tokens import message_tokens
from graph_agent.context.view import clipped, shown
from graph_agent.state import AgentState, said_by_user


def cut_point(state: AgentState, *, room: int, message_cap: int) -> int:
    """Find the cut from which on the messages take at most `room` tokens.

    What the user said in this run is shown wherever the cut is. Its newest exchange, which the
    model has not seen yet, is never cut away.

    Args:
        state: The thread.
        room: Tokens that messages may take.
        message_cap: Tokens that one message may take.

    Returns:
        An index into `state.messages`, never before the present cut.
    """
    start = state.turn["start"]
    said = [message for message in state.messages[start:] if said_by_user(message)]
    left = room - sum(message_tokens(clipped(message, message_cap)) for message in said)
    cut, unseen = len(state.messages), True
    for piece in reversed(list(exchanges(state.messages, state.cut))):
        in_run = piece.start >= start
        if not (in_run and said_by_user(piece.messages[0])):
            left -= _size(piece, message_cap, shrunk=piece.start < state.shrunk)
            if left < 0 and not (in_run and unseen):
                return cut
            unseen = False
        cut = piece.start
    return state.cut


def last_messages_cut(state: AgentState, *, keep: int) -> int:
    """Find the cut that keeps the newest `keep` messages, and what belongs to them, whole."""
    latest = max(0, len(state.messages) - keep)
    starts = [piece.start for piece in exchanges(state.messages, state.cut)]
    return max((start for start in starts if start <= latest), default=state.cut)


def shrunk_point(state: AgentState, *, keep: int) -> int:
    """Find the index before which results may shrink: the newest `keep` exchanges stay whole."""
    pieces = [p for p in exchanges(state.messages, state.cut) if len(p.messages) > 1]
    return max(state.shrunk, pieces[-keep].start if len(pieces) >= keep else 0)


def _size(piece: Exchange, cap: int, *, shrunk: bool) -> int:
    return sum(message_tokens(message) for message in shown(piece, cap, shrunk=shrunk))
