"""Decides whether an answer to a question is right, as fairly as patterns can."""

import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter

GROUPS = re.compile(r"(?<=\d)[,\u00a0\u202f ](?=\d{3}(?!\d))")
"""What stands between thousands."""
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+]?\d+)?|(?<=[^\w.])\d+(?:\.\d+)?")
PLAIN_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
EMPHASIS = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
RAW_CALL = re.compile(
    r'"(?:arguments|args|parameters|tool|expression|timezone|query|city|path)"\s*:'
    r"|<tool_call>|```(?:json|python)|\b(?:calculator|search_notes|current_time)\("
)


class Check(BaseModel):
    """What a right answer holds. Patterns ignore case."""

    numbers: list[float] = Field(default=[], alias="num")
    """All of them."""
    tolerance: float = Field(default=0.0005, alias="tol")
    """Relative, and at least that of 1."""
    patterns: list[str] = Field(default=[], alias="all")
    """All of them."""
    alternatives: list[str] = Field(default=[], alias="any")
    """One of them at least, if there are any."""
    unwanted: list[str] = Field(default=[], alias="not")
    """None of them."""


class Question(BaseModel):
    """One question."""

    id: str
    kind: str = Field(alias="cat")
    text: str = Field(alias="q")
    needed: list[str] = Field(alias="need")
    """Tools that lead to the answer; none where it is known without."""
    check: Check


def read_questions(path: Path) -> list[Question]:
    """Read the questions of a file."""
    return TypeAdapter(list[Question]).validate_json(path.read_bytes())


def passes(answer: str, check: Check) -> bool:
    """Tell whether an answer is right."""
    if not answer.strip():
        return False
    plain = EMPHASIS.sub("", answer).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    texts = (plain, answer)
    return (
        _holds_numbers(plain, check)
        and all(_found(pattern, texts) for pattern in check.patterns)
        and (not check.alternatives or any(_found(rx, texts) for rx in check.alternatives))
        and not any(_found(pattern, texts) for pattern in check.unwanted)
    )


def is_raw_call(answer: str) -> bool:
    """Tell whether an answer is a tool call that was left as text."""
    return RAW_CALL.search(answer) is not None


def _holds_numbers(text: str, check: Check) -> bool:
    # Both readings of "1,234,567": one number, and a list.
    joined = NUMBER.findall(GROUPS.sub("", text.replace("\N{MINUS SIGN}", "-")))
    found = [float(number) for number in [*joined, *PLAIN_NUMBER.findall(text)]]
    return all(
        any(abs(number - wanted) <= check.tolerance * max(1, abs(wanted)) for number in found)
        for wanted in check.numbers
    )


def _found(pattern: str, texts: Iterable[str]) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE | re.DOTALL) for text in texts)
