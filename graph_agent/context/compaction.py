"""Makes a prompt fit again: old results shrink, then old exchanges are summed up or left out.

Nothing is deleted. What comes out are marks (`cut`, `shrunk`, `summary`, `cap`) that the prompt is
built by.
"""

import logging
from dataclasses import dataclass, replace

from langchain_core.messages import AIMessage, BaseMessage

from graph_agent.context.prompt import prompt_of
from graph_agent.context.shortening import clipped
from graph_agent.context.summary import summarized
from graph_agent.context.trimming import cut_point, last_messages_cut, shrunk_point
from graph_agent.context.view import Caps, pinned
from graph_agent.errors import ContextOverflowError, ModelError
from graph_agent.models.language_model import LanguageModel
from graph_agent.prompts import SummaryHint
from graph_agent.settings import Settings
from graph_agent.state import AgentState

logger = logging.getLogger(__name__)

WHOLE_EXCHANGES = 2
"""The newest exchanges with results, which never shrink."""
SUMMARY_SHARE = 1 / 8
"""Share of the budget that the summary may take."""
LEAST_CAP = 48
"""Tokens of a message below which lowering the cap saves nothing."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """How much room there is; tokens."""

    budget: int
    """What a prompt may take."""
    overhead: int
    """What system prompt and tools take of it."""
    caps: Caps
    """What parts of it may take."""
    share: float
    """Share of the budget that a compaction aims for."""

    @property
    def target(self) -> int:
        """What the messages may take after a compaction: some steps pass until the next."""
        return int(self.budget * self.share) - self.overhead

    @property
    def summary_cap(self) -> int:
        """What the summary may take."""
        return int(self.budget * SUMMARY_SHARE)

    def size(self, state: AgentState) -> int:
        """Count what the messages take as they are shown."""
        return prompt_of(state, self.caps).tokens

    def fits(self, state: AgentState) -> bool:
        """Tell whether the prompt is within the budget."""
        return self.overhead + self.size(state) <= self.budget


async def compacted(
    state: AgentState, frame: Frame, settings: Settings, model: LanguageModel
) -> tuple[AgentState, list[AIMessage]]:
    """Return the thread with its marks moved, by the policy that is set.

    Args:
        state: A thread that does not fit.
        frame: The room there is.
        settings: The policy, and how much it keeps.
        model: Who sums up.

    Returns:
        The thread with new marks, and the summariser's replies (for their usage).
    """
    smaller, replies = await _by_policy(replace(state, cap=0), frame, settings, model)
    return _squeezed(smaller, frame), replies


async def _by_policy(
    state: AgentState, frame: Frame, settings: Settings, model: LanguageModel
) -> tuple[AgentState, list[AIMessage]]:
    policy = settings.compaction
    if policy == "auto":
        state = replace(state, shrunk=shrunk_point(state, keep=WHOLE_EXCHANGES))
        if frame.size(state) <= frame.target:
            return state, []
    if policy == "trim":
        return _kept_last(state, frame, settings), []
    room = frame.target - frame.summary_cap
    shorter = (
        _kept_last(state, frame, settings)
        if policy == "summarize"
        else replace(state, cut=cut_point(state, room=room, caps=frame.caps))
    )
    summary, replies = await _summary(state, shorter.cut, frame, model)
    if summary:
        return replace(shorter, summary=summary), replies
    return _trimmed(state, frame), replies


def _kept_last(state: AgentState, frame: Frame, settings: Settings) -> AgentState:
    """Keep the newest messages; fewer of them where they do not fit."""
    cut = last_messages_cut(state, keep=settings.keep_last_messages)
    kept = replace(state, cut=cut)
    return kept if frame.fits(kept) else _trimmed(kept, frame)


def _trimmed(state: AgentState, frame: Frame) -> AgentState:
    return replace(state, cut=cut_point(state, room=frame.target, caps=frame.caps))


def _squeezed(state: AgentState, frame: Frame) -> AgentState:
    """Lower the cap of each message where what may not be left out does not fit as it is."""
    cap = frame.caps.message
    while not frame.fits(state) and cap > LEAST_CAP:
        cap = max(LEAST_CAP, cap * 2 // 3)
        state = replace(state, cap=cap)
    return state


async def _summary(
    state: AgentState, cut: int, frame: Frame, model: LanguageModel
) -> tuple[str, list[AIMessage]]:
    """Sum up what leaves the prompt with a new cut; nothing where that fails."""
    leaving = _leaving(state, cut, frame.caps)
    if not leaving:
        return state.summary, []
    hint: SummaryHint = "react_iteration" if cut > state.turn["start"] else "general"
    room = _room(model)
    try:
        return await summarized(
            model,
            state.summary,
            leaving,
            hint=hint,
            room=room,
            cap=min(frame.summary_cap, room // 4),
        )
    except ModelError as error:
        if isinstance(error, ContextOverflowError):
            model.endpoint.learn_overflow(room)
        # Leaving the old exchanges out without a summary keeps the run going.
        logger.warning("summing up failed, old exchanges are left out instead: %s", error)
        return "", []


def _leaving(state: AgentState, cut: int, caps: Caps) -> list[BaseMessage]:
    """List what is shown now and will not be; of what the user said, what is pinned no more."""
    stays = {id(message) for message in pinned(state, cut, caps)}
    shown = [*pinned(state, state.cut, caps), *state.messages[state.cut : cut]]
    return [message for message in shown if id(clipped(message, caps.message)) not in stays]


def _room(model: LanguageModel) -> int:
    """What a request to the summariser may take: its own window, less its reply."""
    room = max(model.context_size - model.max_output_tokens, model.context_size // 2)
    return min(room, model.endpoint.prompt_limit or room)
