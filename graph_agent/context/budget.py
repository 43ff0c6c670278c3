"""How many tokens a prompt may take."""

from graph_agent.models.language_model import LanguageModel
from graph_agent.settings import Settings

BUDGET_FLOOR = 4_000
"""Tokens; a smaller budget leaves no room for a question and its results."""


def prompt_budget(model: LanguageModel, settings: Settings) -> int:
    """Return the tokens a prompt may take: the window less the reply, 4,000 at least."""
    window = settings.context_size or model.context_size
    reply = settings.max_output_tokens or model.max_output_tokens
    return max(BUDGET_FLOOR, window - reply)


def message_cap(budget: int, settings: Settings) -> int:
    """Return the tokens one message may take: the setting, else a quarter of the budget."""
    return settings.max_message_tokens or budget // 4
