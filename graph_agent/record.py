"""What a run was asked, did and found, in words that fit a model's window."""

from dataclasses import dataclass

from graph_agent.context.shortening import fitted
from graph_agent.context.tokens import text_tokens
from graph_agent.draft import answer_draft
from graph_agent.prompts import SYNTHESIS_DRAFT, SYNTHESIS_INTERRUPTS
from graph_agent.state import AgentState
from graph_agent.trace import (
    fitted_trace,
    interrupts_text,
    question_text,
    run_messages,
    without_draft,
)

PART_SHARE = 1 / 5
"""Share of the room that question, interrupts and draft may take, each; the rest is the trace's."""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run as the parts of a request; those that a run may lack are empty then."""

    question: str
    interrupts: str
    trace: str
    draft: str


def fitted_record(
    state: AgentState, *, room: int, result_chars: int, with_draft: bool = True
) -> RunRecord:
    """Write down the run in progress.

    Args:
        state: The thread.
        room: Tokens that all parts may take together.
        result_chars: Characters of each tool result, where there is room.
        with_draft: Whether the loop's own answer is wanted too.
    """
    messages = run_messages(state)
    most = max(0, int(room * PART_SHARE))
    question = fitted(question_text(messages), most)
    added = fitted(interrupts_text(messages), most)
    interrupts = SYNTHESIS_INTERRUPTS.format(content=added) if added else ""
    found = answer_draft(messages) if with_draft else None
    draft = SYNTHESIS_DRAFT.format(content=fitted(found.text, most)) if found else ""
    trace = fitted_trace(
        without_draft(messages),
        result_chars=result_chars,
        room=room - sum(map(text_tokens, (question, interrupts, draft))),
        summary=state.summary,
    )
    return RunRecord(question=question, interrupts=interrupts, trace=trace, draft=draft)
