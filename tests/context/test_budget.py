"""The budget is the window less the reply, and has a floor."""

from typing import Any

import pytest

from graph_agent import Settings
from graph_agent.context.budget import message_cap, prompt_budget
from graph_agent.models.language_model import LanguageModel
from graph_agent.testing import ScriptedChatModel


@pytest.mark.parametrize(
    ("known", "settings", "budget"),
    [
        pytest.param({}, {}, 64_000, id="defaults"),
        pytest.param({"context_size": 16_000, "max_output_tokens": 1_000}, {}, 15_000, id="model"),
        pytest.param({"context_size": 16_000}, {"context_size": 90_000}, 26_000, id="setting wins"),
        pytest.param({"context_size": 4_096, "max_output_tokens": 2_048}, {}, 4_000, id="floor"),
    ],
)
def test_prompt_budget(known: dict[str, Any], settings: dict[str, Any], budget: int) -> None:
    model = LanguageModel.of(ScriptedChatModel(replies=[]), **known)

    assert prompt_budget(model, Settings(database="memory:", **settings)) == budget


def test_one_message_takes_a_quarter_unless_set() -> None:
    assert message_cap(8_000, Settings(database="memory:")) == 2_000
    assert message_cap(8_000, Settings(database="memory:", max_message_tokens=10)) == 10
