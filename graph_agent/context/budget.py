"""How many tokens a prompt may take."""

from graph_agent.models.language_model import LanguageModel
from graph_agent.settings import Settings

BUDGET_FLOOR = 4_000
"""Tokens; a smaller budget leaves no room for a question and its results."""
COUNTED_FLOOR = 1_000
"""Tokens by our count, where the endpoint's own count is known to be higher."""


def nominal_budget(model: LanguageModel, settings: Settings) -> int:
    """Return the tokens a prompt may take as it is set up: the window less the reply, or 4,000."""
    window = settings.context_size or model.context_size
    reply = settings.max_output_tokens or model.max_output_tokens
    return max(BUDGET_FLOOR, window - reply)


def prompt_budget(model: LanguageModel, settings: Settings) -> int:
    """Return the tokens, by our count, that a prompt may take at the model's endpoint.

    That is what is set up, divided by how much more than we the endpoint counts, 1,000 at least;
    less where it refused a prompt of that size.
    """
    endpoint = model.endpoint
    counted = int(nominal_budget(model, settings) / endpoint.calibration.factor)
    budget = max(COUNTED_FLOOR, counted)
    return min(budget, endpoint.prompt_limit or budget)


def summary_room(model: LanguageModel, settings: Settings) -> int:
    """Return the tokens, by our count, that a request to the summariser may take.

    Its window may be smaller than that of the model in use, and than every floor.
    """
    endpoint = model.endpoint
    window = min(model.context_size, settings.context_size or model.context_size)
    reply = settings.max_output_tokens or model.max_output_tokens
    counted = int(max(window - reply, window // 2) / endpoint.calibration.factor)
    return min(counted, endpoint.prompt_limit or counted)


def message_cap(budget: int, settings: Settings) -> int:
    """Return the tokens one message may take: the setting, else a quarter; never over the budget.

    Args:
        budget: What a prompt may take.
        settings: Where the cap may be set.
    """
    return min(settings.max_message_tokens or budget // 4, budget)
