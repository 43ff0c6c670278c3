"""Knows by code and words what servers mean by an error: a prompt too long, an account used up.

Statuses do not tell: an overflow comes as 400, 413, 422, 429 or 500, and a 429 may be a rate
limit, a prompt that no waiting makes fit, or an account without money.
"""

import re
from collections.abc import Set

TOO_LARGE = 413
"""The HTTP status that says it by itself, also where a proxy sends it."""
OVERFLOW_STATUS = {None, 400, 422, 429, 500}
"""HTTP statuses with which servers report a prompt that does not fit; None: amid a stream."""
OVERFLOW_LABELS = {
    "context_length_exceeded",  # OpenAI, Azure, Groq, Cerebras, vLLM
    "exceed_context_size_error",  # llama.cpp
    "string_above_max_length",  # OpenAI, of one message
}
OVERFLOW = re.compile(
    "|".join(
        [
            r"context[ _-]?(?:length|window|size)",  # OpenAI, Azure, vLLM, llama.cpp, DeepSeek, …
            r"maximum (?:context|model length|prompt length|input length)",  # vLLM, xAI
            r"(?:prompt|input|request)(?: is)? too (?:long|large)",  # Anthropic, Bedrock, OpenAI
            r"too (?:long|large) (?:to fit|for (?:the |this )?model)",  # vLLM, Mistral
            r"too many (?:input )?tokens(?!.{0,20} per )",  # Cohere, LiteLLM
            r"prompt exceeds max",  # Zhipu
            r"exceed\w* (?:the )?context limit",  # Anthropic
            r"exceed\w* (?:the )?(?:\w+ ){0,2}(?:model )?token limit",  # Moonshot
            r"exceeds the maximum number of (?:input )?tokens",  # Gemini
            r"token count\b.{0,30}exceeds the (?:maximum|limit)",  # Copilot, Gemini
            r"reduce the length of",  # OpenAI, Groq, Cerebras
            r"range of input length should be",  # DashScope
            r"tokens to keep from the initial prompt",  # LM Studio
            r"must have less than \d+ tokens",  # text-generation-inference
            r"`inputs` tokens \+ `max_new_tokens` must be",  # text-generation-inference
        ]
    ),
    re.IGNORECASE,
)
"""How servers say that a prompt does not fit."""
RATE = re.compile(
    r"rate.?limit|per (?:min|hour|day)|\b[TR]P[MD]\b|quota|retry after|try again in", re.IGNORECASE
)
"""How servers say that there were too many tokens in some time: waiting helps."""
ONE_REQUEST_TOO_LARGE = re.compile(
    r"request too large|reduce your message size|tokens must be reduced", re.IGNORECASE
)
"""Words for one request over what a whole minute allows: waiting never helps (OpenAI, Groq)."""

USED_UP_LABELS = {
    "insufficient_quota",  # OpenAI
    "billing_hard_limit_reached",  # OpenAI
    "billing_not_active",  # OpenAI
    "exceeded_current_quota_error",  # Moonshot
    "insufficient_balance",  # DeepSeek and others
}
USED_UP = re.compile(
    r"insufficient[ _](?:quota|balance|credits?|funds)|credit balance is too low", re.IGNORECASE
)
"""How servers say that the account has no money left."""


def is_overflow(status: int | None, words: str, labels: Set[str]) -> bool:
    """Tell whether an error says that the prompt does not fit the model.

    Args:
        status: HTTP status; None where the error came amid a stream.
        words: What the server says.
        labels: Its code and type.
    """
    if status == TOO_LARGE or labels & OVERFLOW_LABELS:
        return True
    if status not in OVERFLOW_STATUS:
        return False
    if RATE.search(words):
        return status != 400 and ONE_REQUEST_TOO_LARGE.search(words) is not None
    return OVERFLOW.search(words) is not None


def is_used_up(words: str, labels: Set[str]) -> bool:
    """Tell whether an error says that the account has no money left: waiting does not help."""
    return bool(labels & USED_UP_LABELS) or USED_UP.search(words) is not None
