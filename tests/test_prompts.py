"""Every placeholder of a prompt equals what fills it."""

import string

import pytest

from graph_agent import prompts

FILLED = {
    "JSON_MODE": {"system", "first", "last", "tools"},
    "JSON_MODE_NO_TOOLS": {"system", "first", "last"},
    "OBSERVATION": {"content"},
    "REFORMAT": {"fault"},
    "USER_INTERRUPT": {"content"},
    "SELECT_TOOLS": {"limit", "catalogue"},
    "STRUCTURED_JSON": {"schema"},
    "STRUCTURED_REFORMAT": {"fault"},
    "STRUCTURED_ANSWER_USER": {"question", "interrupts", "trace", "answer"},
    "SYNTHESIS_USER": {"question", "interrupts", "trace", "draft"},
    "SYNTHESIS_INTERRUPTS": {"content"},
    "SYNTHESIS_DRAFT": {"content"},
    "LIMIT_NOTE": {"limit"},
    "REMINDER": {"question", "added"},
    "COMPLETION_CHECK": {"question", "added"},
    "UNFINISHED": {"steps"},
    "SUMMARIZE_REQUEST": {"question", "so_far", "text"},
    "SUMMARY_QUESTION": {"content"},
    "EARLIER_STEPS": {"count", "summary"},
    "SUMMARY_SO_FAR": {"content"},
    "SUMMARY": {"content"},
    "TRIMMED": {"tokens"},
}
AS_THEY_ARE = {
    "SYSTEM_PROMPT",
    "SAID_NOTHING",
    "UNREADABLE_REASONING",
    "IMAGE",
    "IMAGE_LEFT_OUT",
    "STRUCTURED_ANSWER_SYSTEM",
    "STRUCTURED_TOOL",
    "SYNTHESIS_SYSTEM",
    "NOTHING_FOUND",
    "CALL_CANCELLED",
    "REPEATED_CALL",
    "GOAL_ADDED",
}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def texts() -> dict[str, str]:
    found = vars(prompts).items()
    return {name: text for name, text in found if name.isupper() and isinstance(text, str)}


def test_every_prompt_is_listed_here() -> None:
    assert set(texts()) == {*FILLED, *AS_THEY_ARE}


@pytest.mark.parametrize("name", sorted(FILLED))
def test_placeholders(name: str) -> None:
    assert placeholders(texts()[name]) == FILLED[name]


@pytest.mark.parametrize("name", sorted(AS_THEY_ARE))
def test_texts_that_are_not_filled_have_no_placeholder(name: str) -> None:
    assert placeholders(texts()[name]) == set()


def test_the_forms_of_json_mode_are_json_once_filled() -> None:
    filled = prompts.JSON_MODE.format(system="S", tools="T", first="", last="")

    assert '{"type": "tool_call", "tool": "<name>", "args": {...}}' in filled
    assert '{"type": "final_answer", "answer": "<text>"}' in filled
