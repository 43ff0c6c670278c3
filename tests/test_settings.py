from typing import Any

import pytest

from graph_agent.errors import ConfigError
from graph_agent.prompts import SYSTEM_PROMPT
from graph_agent.settings import NOT_SETTINGS, Settings, default_database

SPECIFIED = {
    "max_iterations": 50,
    "use_native_tools": True,
    "json_reasoning": "auto",
    "synthesis": "auto",
    "synthesis_tool_result_chars": 2000,
    "tool_selection_threshold": 12,
    "tool_selection_max": 6,
    "tool_timeout": 120,
    "tool_concurrency": 8,
    "repeated_calls_warn": 3,
    "repeated_calls_stop": 5,
    "self_reflection_interval": 6,
    "completion_check_min_tools": 3,
    "system_prompt": SYSTEM_PROMPT,
    "context_size": None,
    "max_output_tokens": None,
    "compaction": "auto",
    "keep_last_messages": 10,
    "max_message_tokens": None,
    "compaction_target": 0.6,
    "pinned_share": 0.5,
    "model_timeout": 300,
    "stream_idle_timeout": 60,
    "max_retries": 4,
    "retry_deadline": 120,
    "run_timeout": None,
    "max_total_tokens": None,
    "max_cost": None,
    "on_disconnect": "continue",
    "durability": "async",
}


def test_every_setting_and_its_default() -> None:
    assert Settings.load({}).model_dump() == {**SPECIFIED, "database": default_database()}


def test_the_database_is_a_file_of_the_user() -> None:
    assert default_database().startswith("sqlite:////")
    assert default_database().endswith("/graph-agent/threads.sqlite")


@pytest.mark.parametrize(
    ("file", "environ", "keywords", "iterations"),
    [
        pytest.param({}, {}, {}, 50, id="default"),
        pytest.param({"max_iterations": 1}, {}, {}, 1, id="file"),
        pytest.param({"max_iterations": 1}, {"MAX_ITERATIONS": "2"}, {}, 2, id="environment"),
        pytest.param(
            {"max_iterations": 1},
            {"MAX_ITERATIONS": "2"},
            {"max_iterations": 3},
            3,
            id="keywords",
        ),
        pytest.param({}, {}, {"max_iterations": 3}, 3, id="keywords alone"),
    ],
)
def test_what_goes_over_what(
    file: dict[str, Any], environ: dict[str, str], keywords: dict[str, Any], iterations: int
) -> None:
    variables = {f"GRAPH_AGENT_{name}": value for name, value in environ.items()}

    settings = Settings.load(variables, file=file, keywords=keywords)

    assert settings.max_iterations == iterations


@pytest.mark.parametrize(
    ("variable", "value", "name", "read"),
    [
        ("GRAPH_AGENT_USE_NATIVE_TOOLS", "false", "use_native_tools", False),
        ("GRAPH_AGENT_USE_NATIVE_TOOLS", "1", "use_native_tools", True),
        ("GRAPH_AGENT_TOOL_TIMEOUT", "0.5", "tool_timeout", 0.5),
        ("GRAPH_AGENT_SELF_REFLECTION_INTERVAL", "0", "self_reflection_interval", 0),
        ("GRAPH_AGENT_DATABASE", "memory:", "database", "memory:"),
    ],
)
def test_the_environment_is_text(variable: str, value: str, name: str, read: object) -> None:
    assert getattr(Settings.load({variable: value}), name) == read


def test_other_variables_with_the_prefix_are_no_settings() -> None:
    variables = {f"GRAPH_AGENT_{name.upper()}": "x" for name in NOT_SETTINGS}

    assert Settings.load({**variables, "HOME": "/"}) == Settings()
    assert {"model", "config", "api_keys"} <= NOT_SETTINGS


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param(
            {"environ": {"GRAPH_AGENT_MAX_ITERATONS": "9"}},
            "In the environment: `GRAPH_AGENT_MAX_ITERATONS`: there is no such setting. "
            "Correct it and start again.",
            id="a misspelt variable",
        ),
        pytest.param(
            {"environ": {"GRAPH_AGENT_MAX_ITERATIONS": "many"}},
            "In the environment: `GRAPH_AGENT_MAX_ITERATIONS`: input should be a valid integer, "
            "unable to parse string as an integer. Correct it and start again.",
            id="a variable that is no number",
        ),
        pytest.param(
            {"environ": {}, "file": {"synthesys": "auto"}},
            "In `[agent]` of the config file: `synthesys`: there is no such setting. "
            "Correct it and start again.",
            id="a misspelt key",
        ),
        pytest.param(
            {"environ": {}, "keywords": {"compaction_target": 2, "pinned_share": 0}},
            "In the settings: `compaction_target`: input should be less than or equal to 1; "
            "`pinned_share`: input should be greater than 0. Correct it and start again.",
            id="two keywords out of bounds",
        ),
        pytest.param(
            {"environ": {}, "keywords": {"synthesis": "sometimes"}},
            "In the settings: `synthesis`: input should be 'auto', 'always' or 'never'. "
            "Correct it and start again.",
            id="no such choice",
        ),
    ],
)
def test_the_error_names_what_is_wrong(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.load(**given)

    assert str(caught.value) == text


def test_a_password_is_in_no_text() -> None:
    url = "postgresql://me:secret@db/agent"

    settings = Settings.load({"GRAPH_AGENT_DATABASE": url})

    assert settings.database == url
    assert "secret" not in f"{settings!r} {settings}"
