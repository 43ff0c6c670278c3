"""Makes a prompt fit again: old results shrink, then old exchanges are summed up or left out.

Nothing is deleted. What comes out are marks (`cut`, `shrunk`, `summary`) that the view is built by.
"""

import logging
from dataclasses import dataclass, replace

from langchain_core.messages import AIMessage, BaseMessage

from graph_agent.context.summary import summarized
from graph_agent.context.tokens import message_tokens
from graph_agent.context.trimming import cut_point, last_messages_cut, shrunk_point
from graph_agent.context.view import prompt_view
from graph_agent.errors import ModelError
from graph_agent.models.language_model import LanguageModel
from graph_agent.prompts import SummaryHint
from graph_agent.settings import Settings
from graph_agent.state import AgentState, said_by_user

logger = logging.getLogger(__name__)

WHOLE_EXCHANGES = 2
"""The newest exchanges with results, which never shrink."""
SUMMARY_SHARE = 1 / 8
"""Share of the budget that the summary may take."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """How much room there is; tokens."""

    budget: int
    """What a prompt may take."""
    overhead: int
    """What system prompt and tools take of it."""
    message_cap: int
    """What one message may take."""
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
        return sum(map(message_tokens, prompt_view(state, message_cap=self.message_cap)))

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
        else replace(state, cut=cut_point(state, room=room, message_cap=frame.message_cap))
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
    cut = cut_point(state, room=frame.target, message_cap=frame.message_cap)
    return replace(state, cut=cut)


async def _summary(
    state: AgentState, cut: int, frame: Frame, model: LanguageModel
) -> tuple[str, list[AIMessage]]:
    """Sum up what lies between the old cut and the new; nothing where that fails."""
    start = state.turn["start"]
    leaving: list[BaseMessage] = [
        message
        for index, message in enumerate(state.messages[state.cut : cut], state.cut)
        if index < start or not said_by_user(message)
    ]
    if not leaving:
        return state.summary, []
    hint: SummaryHint = "react_iteration" if cut > start else "general"
    try:
        return await summarized(
            model,
            state.summary,
            leaving,
            hint=hint,
            room=_room(model),
            cap=min(frame.summary_cap, _room(model) // 4),
        )
    except ModelError as error:
        # Leaving the old exchanges out without a summary keeps the run going.
        logger.warning("summing up failed, old exchanges are left out instead: %s", error)
        return "", []


def _room(model: LanguageModel) -> int:
    """What a request to the summariser may take: its own window, less its reply."""
    return max(model.context_size - model.max_output_tokens, model.context_size // 2)
