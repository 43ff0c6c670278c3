"""The budget is the window less the reply, has a floor, and counts as the endpoint does."""

from typing import Any

import pytest

from graph_agent import Settings
from graph_agent.context.budget import message_cap, prompt_budget
from graph_agent.models.language_model import LanguageModel
from graph_agent.testing import ScriptedChatModel

SMALL: dict[str, Any] = {"context_size": 4_096, "max_output_tokens": 2_048}


@pytest.mark.parametrize(
    ("known", "settings", "budget"),
    [
        pytest.param({}, {}, 64_000, id="defaults"),
        pytest.param({"context_size": 16_000, "max_output_tokens": 1_000}, {}, 15_000, id="model"),
        pytest.param({"context_size": 16_000}, {"context_size": 90_000}, 26_000, id="setting wins"),
        pytest.param(SMALL, {}, 4_000, id="floor"),
    ],
)
def test_prompt_budget(known: dict[str, Any], settings: dict[str, Any], budget: int) -> None:
    model = LanguageModel.of(ScriptedChatModel(replies=[]), **known)

    assert prompt_budget(model, Settings(database="memory:", **settings)) == budget


@pytest.mark.parametrize(
    ("known", "reports", "budget"),
    [
        pytest.param({}, [12_500], 51_200, id="the endpoint counts a quarter more"),
        pytest.param({}, [8_000] * 50, 64_000, id="less: nothing changes"),
        pytest.param(SMALL, [20_000], 2_000, id="the floor is one of true tokens"),
    ],
)
def test_the_budget_follows_what_the_endpoint_reports(
    known: dict[str, Any], reports: list[int], budget: int
) -> None:
    model = LanguageModel.of(ScriptedChatModel(replies=[]), **known)

    for reported in reports:
        model.endpoint.calibration.observe(10_000, reported)

    assert prompt_budget(model, Settings(database="memory:")) == budget


def test_no_calibration_leaves_less_than_a_thousand_tokens() -> None:
    model = LanguageModel.of(ScriptedChatModel(replies=[]), **SMALL)
    model.endpoint.calibration.factor = 8.0

    assert prompt_budget(model, Settings(database="memory:")) == 1_000


@pytest.mark.parametrize(
    ("budget", "setting", "cap"),
    [
        pytest.param(8_000, None, 2_000, id="a quarter"),
        pytest.param(8_000, 10, 10, id="the setting"),
        pytest.param(8_000, 9_000, 8_000, id="a setting over the budget"),
    ],
)
def test_what_one_message_may_take(budget: int, setting: int | None, cap: int) -> None:
    assert message_cap(budget, Settings(database="memory:", max_message_tokens=setting)) == cap
