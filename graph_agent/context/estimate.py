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
    r"|<(?=\|)|\|(?=>)|[!-/:-@\[-`{-~]{1,2}"  # those of special tokens are no pairs
    r"|[\r\n]{1,12}|[ \t]{2,64}"
)
PIECE_TOKENS = 1.04
"""Tokens of a piece: rare words take two."""
RANDOM_RUN = re.compile(r"[A-Za-z0-9+/]{32,}")
"""May be base64, which falls into shorter tokens than its pieces."""
RANDOM_EXTRA = 0.2
"""Tokens that a character of base64 takes beyond its pieces."""
MIXED = tuple(re.compile(kind) for kind in ("[0-9]", "[A-Z]", "[a-z]"))
GAP = b"\x7f"
"""Stands for characters of other scripts; it belongs to no piece."""

SCRIPTS = (
    (range(0xAC, 0xD8), 0.95),  # Korean
    ((0x11, 0x31), 0.95),  # Korean, its letters
    ((*range(0x30, 0x31), *range(0x34, 0xA0), 0xF9, 0xFA, 0xFF), 0.9),  # Han, Kana
    ((0x04,), 0.62),  # Cyrillic
    ((0x05, 0x06), 0.95),  # Hebrew, Arabic
    (range(0x09, 0x0E), 1.3),  # scripts of India
    (range(0xD8, 0xDC), 2.4),  # the first half of what needs two: emoji
    (range(0xDC, 0xE0), 0.0),  # the second half
    ((0x00, 0x01, 0x02), 1.0),  # Latin with accents
    ((0x1D, *range(0x21, 0x25), *range(0x26, 0x30)), 2.0),  # mathematics, symbols, Braille
)
"""Scripts by the upper byte of their UTF-16, and the tokens that a character of theirs takes."""
OTHER_TOKENS = 1.2
"""Tokens that a character of any other script takes."""
KIND = bytes(
    next((kind for kind, (blocks, _) in enumerate(SCRIPTS) if block in blocks), len(SCRIPTS))
    for block in range(256)
)
"""The script of each upper byte, by its place in `SCRIPTS`; the last stands for all others."""
LATIN = KIND[0]


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text, in time that grows with its length.

    >>> estimated_tokens("What is the capital of Japan?"), estimated_tokens("서울의 날씨")
    (8, 5)
    """
    plain = text if text.isascii() else _with_gaps(text)
    # `subn` counts without keeping the pieces, which `findall` would put into a list.
    tokens = PIECE_TOKENS * PIECE.subn("", plain)[1] + _random_extra(plain)
    return int(tokens + (0.0 if plain is text else _other_scripts(text))) + 1


def _with_gaps(text: str) -> str:
    """Put a gap, or a few, in place of each run of other scripts."""
    # Encoding and replacing is many times faster than a pattern that visits each character.
    plain = text.replace("?", "!").encode("ascii", "replace").replace(b"?", GAP)
    for length in (64, 8, 4, 2):
        plain = plain.replace(GAP * length, GAP)
    return plain.decode()


def _random_extra(plain: str) -> float:
    runs = RANDOM_RUN.findall(plain)
    return RANDOM_EXTRA * sum(len(r) for r in runs if all(kind.search(r) for kind in MIXED))


def _other_scripts(text: str) -> float:
    upper = text.encode("utf-16-le", "surrogatepass")[1::2].translate(KIND)
    rates = [rate for _, rate in SCRIPTS] + [OTHER_TOKENS]
    tokens = sum(rate * upper.count(kind) for kind, rate in enumerate(rates))
    in_ascii = len(text.encode("ascii", "ignore"))
    return tokens - rates[LATIN] * in_ascii
