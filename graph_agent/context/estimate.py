"""Estimates the tokens of a text without a tokenizer, on the high side.

A byte-pair tokenizer first cuts text into words, numbers, marks and space; a frequent word is one
token. Counting such pieces comes close for every language written in ASCII, for code and for data.
Other scripts are counted by the character, between what tokenizers of 200,000 and of 100,000 tokens
take.
"""

import re

PIECE = re.compile(
    r"[A-Z]?[a-z]{1,8}|[A-Z]{1,3}"  # words; long ones and random letters take more than one
    r"|[0-9]{1,3}| (?=[0-9])"
    r"|-{3,64}|={3,64}|\*{3,64}|_{3,64}"  # rules and headings
    r"|[!-/:-@\[-`{-~]{1,2}"
    r"|[\r\n]{1,12}|[ \t]{2,64}"
)
PIECE_TOKENS = 1.04
"""Tokens of a piece: rare words take two."""
RANDOM_RUN = re.compile(r"[A-Za-z0-9+/]{32,}")
"""May be base64, which falls into shorter tokens than its pieces."""
RANDOM_EXTRA = 0.2
"""Tokens that a character of base64 takes beyond its pieces."""
MIXED = tuple(re.compile(kind) for kind in ("[0-9]", "[A-Z]", "[a-z]"))
SCRIPTS = (
    (re.compile(r"[\uac00-\ud7a3\u1100-\u11ff\u3130-\u318f]+"), 0.95),  # Korean
    (re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]+"), 0.9),  # Han, Kana
    (re.compile(r"[\u0400-\u052f]+"), 0.62),  # Cyrillic
    (re.compile(r"[\u0590-\u06ff]+"), 0.95),  # Hebrew, Arabic
    (re.compile(r"[\u0900-\u0dff]+"), 1.3),  # scripts of India
    (re.compile(r"[\U00010000-\U0010ffff]+"), 2.4),  # emoji
    (re.compile(r"[\u00a0-\u024f]+"), 1.0),  # Latin with accents
)
"""Scripts and the tokens that a character of theirs takes."""
OTHER_TOKENS = 1.2
"""Tokens that a character of any other script takes."""
ASCII_RUN = re.compile(r"[\x00-\x7f]+")


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text, in time that grows with its length.

    >>> estimated_tokens("What is the capital of Japan?"), estimated_tokens("서울의 날씨")
    (8, 5)
    """
    tokens = PIECE_TOKENS * len(PIECE.findall(text)) + _random_extra(text)
    return int(tokens + _other_scripts(text)) + 1


def _random_extra(text: str) -> float:
    runs = RANDOM_RUN.findall(text)
    return RANDOM_EXTRA * sum(len(r) for r in runs if all(kind.search(r) for kind in MIXED))


def _other_scripts(text: str) -> float:
    if text.isascii():
        return 0.0
    tokens, rest = 0.0, ASCII_RUN.sub("", text)
    for script, rate in SCRIPTS:
        others = script.sub("", rest)
        tokens += rate * (len(rest) - len(others))
        rest = others
    return tokens + OTHER_TOKENS * len(rest)
