from typing import Any

import pytest
from langchain.chat_models import base as langchain_models
from pydantic import ValidationError

from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.models.spec import PROVIDERS, Abilities, ModelSpec, PartialAbilities, is_small
from graph_agent.testing import ScriptedChatModel


@pytest.mark.parametrize(
    ("profile", "abilities"),
    [
        pytest.param(
            {},
            Abilities(tool_call=True, json_mode=False),
            id="a profile that says nothing",
        ),
        pytest.param(
            {"tool_calling": False, "structured_output": False},
            Abilities(tool_call=False, json_mode=False),
            id="able to do nothing",
        ),
        pytest.param(
            {
                "tool_calling": True,
                "structured_output": True,
                "reasoning_output": True,
                "image_inputs": True,
            },
            Abilities(
                tool_call=True, json_mode=True, json_schema=True, reasoning=True, vision=True
            ),
            id="able to do all",
        ),
    ],
)
def test_abilities_come_from_the_profile(profile: dict[str, Any], abilities: Abilities) -> None:
    chat = CompatibleChatModel(
        model="m", base_url="http://127.0.0.1/v1", api_key="k", profile=profile
    )

    assert Abilities.of(chat) == abilities


def test_without_a_profile_the_class_tells() -> None:
    chat = CompatibleChatModel(model="unknown", base_url="http://127.0.0.1/v1", api_key="k")

    assert Abilities.of(chat) == Abilities(tool_call=True, json_mode=False)


def test_a_model_that_cannot_bind_tools_has_none() -> None:
    assert not Abilities.of(ScriptedChatModel(replies=[], tool_calling=False)).tool_call


def test_what_is_said_of_abilities_goes_over_what_is_known() -> None:
    known = Abilities(tool_call=True, json_schema=True)

    said = PartialAbilities(tool_call=False, vision=True)

    assert said.over(known) == Abilities(tool_call=False, json_schema=True, vision=True)
    assert PartialAbilities().over(known) == known


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        pytest.param({}, "`model` is missing", id="no name"),
        pytest.param({"model": "m", "modle": "m"}, "modle", id="a misspelt key"),
        pytest.param({"model": "m", "context_size": 0}, "context_size", id="no window"),
        pytest.param({"model": "m", "abilities": {"tools": True}}, "abilities.tools", id="ability"),
    ],
)
def test_a_wrong_spec_is_an_error(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        ModelSpec.model_validate(fields)


def test_the_embedded_model_needs_no_name() -> None:
    assert ModelSpec(provider="local").model == ""


@pytest.mark.parametrize(
    ("model", "small"),
    [
        ("qwen2.5-1.5b-instruct", True),
        ("Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", True),
        ("qwen2.5:7b", True),
        ("llama3.1:8b", True),
        ("qwen2.5-14b", False),
        ("llama-3.3-70b", False),
        ("gpt-5-mini", False),
        ("", False),
    ],
)
def test_which_models_are_small(model: str, small: bool) -> None:
    assert is_small(model) is small


def test_langchains_providers_are_known() -> None:
    assert sorted(langchain_models._BUILTIN_PROVIDERS.keys() - PROVIDERS) == []
