"""Makes a prompt fit again: old results shrink, then old exchanges are summed up or left out.

Nothing is deleted. What comes out are marks (`cut`, `shrunk`, `summary`, `cap`) that the prompt is
built by.
"""

import logging
from dataclasses import dataclass, replace

from langchain_core.messages import AIMessage, BaseMessage

from graph_agent.context.budget import summary_room
from graph_agent.context.prompt import prompt_of
from graph_agent.context.shortening import clipped
from graph_agent.context.summary import summarized
from graph_agent.context.trimming import cut_point, last_messages_cut, shrunk_point
from graph_agent.context.view import Caps, pinned
from graph_agent.errors import ContextOverflowError, ModelError
from graph_agent.models.language_model import LanguageModel
from graph_agent.prompts import SummaryHint
from graph_agent.settings import Settings
from graph_agent.state import AgentState, said_by_user

logger = logging.getLogger(__name__)

WHOLE_EXCHANGES = 2
"""The newest exchanges with results, which do not shrink; the newest one never does."""
WHOLE_SHARE = 2 / 3
"""Share of the target that they may take; more would bring the next compaction too soon."""
SUMMARY_SHARE = 1 / 8
"""Share of the budget that the summary may take."""
LEAST_SHARE = 1 / 4
"""Share of the budget that the target must be, for old exchanges to be summed up."""
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
        wanted = int(self.budget * self.share) - self.overhead
        # A long system prompt must not leave nothing for the messages.
        return max(wanted, (self.budget - self.overhead) // 2)

    @property
    def summary_cap(self) -> int:
        """What the summary may take."""
        return min(int(self.budget * SUMMARY_SHARE), self.target // 4)

    @property
    def cap(self) -> int:
        """What one message may take where the budget is less than was set up; 0: as usual."""
        quarter = self.budget // 4
        return quarter if quarter < self.caps.message else 0

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
    state = replace(state, cap=frame.cap)
    smaller, replies = await _by_policy(state, frame, settings, model)
    return _squeezed(smaller, frame), replies


async def _by_policy(
    state: AgentState, frame: Frame, settings: Settings, model: LanguageModel
) -> tuple[AgentState, list[AIMessage]]:
    policy = settings.compaction
    if policy == "auto":
        state = _shrunk(state, frame)
        if frame.size(state) <= frame.target:
            return state, []
    if policy == "trim":
        return _kept_last(state, frame, settings), []
    if policy == "auto" and frame.target < frame.budget * LEAST_SHARE:
        # With so little room something would have to be summed up, and paid, at every step.
        return _trimmed(state, frame), []
    shorter = (
        _kept_last(state, frame, settings)
        if policy == "summarize"
        else _trimmed(state, frame, frame.target - frame.summary_cap)
    )
    summary, replies = await _summary(state, shorter.cut, frame, settings, model)
    if summary:
        return replace(shorter, summary=summary), replies
    return _trimmed(state, frame), replies


def _shrunk(state: AgentState, frame: Frame) -> AgentState:
    """Shrink old results; of the newest whole ones only one stays where they take too much."""
    newest = shrunk_point(replace(state, shrunk=0), keep=WHOLE_EXCHANGES)
    whole = frame.size(replace(state, cut=max(state.cut, newest), summary=""))
    keep = WHOLE_EXCHANGES if whole <= frame.target * WHOLE_SHARE else 1
    return replace(state, shrunk=shrunk_point(state, keep=keep))


def _kept_last(state: AgentState, frame: Frame, settings: Settings) -> AgentState:
    """Keep the newest messages; fewer of them where they do not fit."""
    cut = last_messages_cut(state, keep=settings.keep_last_messages)
    kept = replace(state, cut=cut)
    return kept if frame.fits(kept) else _trimmed(kept, frame)


def _trimmed(state: AgentState, frame: Frame, room: int | None = None) -> AgentState:
    """Leave old exchanges out, until the rest takes `room` tokens; None: the target."""
    room = frame.target if room is None else room
    return replace(state, cut=cut_point(state, room=room, caps=frame.caps.lowered(state.cap)))


def _squeezed(state: AgentState, frame: Frame) -> AgentState:
    """Lower the cap of each message where what may not be left out does not fit as it is."""
    cap = state.cap or frame.caps.message
    while not frame.fits(state) and cap > LEAST_CAP:
        cap = max(LEAST_CAP, cap * 2 // 3)
        state = replace(state, cap=cap)
    return state


async def _summary(
    state: AgentState, cut: int, frame: Frame, settings: Settings, model: LanguageModel
) -> tuple[str, list[AIMessage]]:
    """Sum up what leaves the prompt with a new cut; nothing where that fails."""
    leaving = _leaving(state, cut, frame.caps.lowered(state.cap))
    if not leaving:
        return state.summary, []
    hint: SummaryHint = "react_iteration" if cut > state.turn["start"] else "general"
    room = summary_room(model, settings)
    try:
        return await summarized(
            model,
            state.summary,
            leaving,
            hint=hint,
            room=room,
            cap=min(frame.summary_cap, room // 4),
            question=_question(state) if cut > state.turn["start"] else "",
        )
    except ModelError as error:
        if isinstance(error, ContextOverflowError):
            model.endpoint.learn_overflow(room)
        # Leaving the old exchanges out without a summary keeps the run going.
        logger.warning("summing up failed, old exchanges are left out instead: %s", error)
        return "", []


def _question(state: AgentState) -> str:
    return state.messages[state.turn["start"]].text


def _leaving(state: AgentState, cut: int, caps: Caps) -> list[BaseMessage]:
    """List what is shown now and will not be; of what the user said, what is pinned no more."""
    stays = {id(message) for message in pinned(state, cut, caps)}
    shown = [*pinned(state, state.cut, caps), *state.messages[state.cut : cut]]
    return [
        message
        for message in shown
        if not (said_by_user(message) and id(clipped(message, caps.message)) in stays)
    ]
