"""Makes a prompt fit without a model: the oldest exchanges go first, whole."""

from langchain_core.messages import HumanMessage

from graph_agent.context.exchanges import Exchange, exchanges
from graph_agent.context.tokens import message_tokens
from graph_agent.context.view import Caps, pinned, shown
from graph_agent.state import AgentState


def cut_point(state: AgentState, *, room: int, caps: Caps) -> int:
    """Find the cut from which on the messages take at most `room` tokens.

    What the user said in this run counts wherever the cut is, as far as it stays. The run's newest
    exchange, and what follows it, the model has not seen yet: they are never cut away.

    Args:
        state: The thread.
        room: Tokens that messages may take.
        caps: Tokens that parts of them may take.

    Returns:
        An index into `state.messages`, never before the present cut.
    """
    start, cut, after, unseen = state.turn["start"], len(state.messages), 0, True
    for piece in reversed(list(exchanges(state.messages, state.cut))):
        after += _size(piece, caps.message, shrunk=piece.start < state.shrunk)
        stays = sum(map(message_tokens, pinned(state, piece.start, caps)))
        if after + stays > room and not (unseen and piece.start >= start):
            return cut
        unseen = unseen and isinstance(piece.messages[0], HumanMessage)
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
    return sum(map(message_tokens, shown(piece, cap, shrunk=shrunk)))
