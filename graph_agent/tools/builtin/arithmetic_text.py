"""Reads arithmetic as people and models write it, and writes it as a Python expression.

It settles what the notation leaves open: `^` is a power, "1,234" is one number outside a function
call, "15% of 80" is a share while "17 % 5" is a remainder. What has two readings is refused.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

_SYMBOLS = str.maketrans(
    {
        "\N{MINUS SIGN}": "-",
        "\N{EN DASH}": "-",
        "\N{MULTIPLICATION SIGN}": " * ",
        "\N{MIDDLE DOT}": " * ",
        "\N{DOT OPERATOR}": " * ",
        "\N{DIVISION SIGN}": " / ",
        "\N{SUPERSCRIPT TWO}": " ** 2 ",
        "\N{SUPERSCRIPT THREE}": " ** 3 ",
        "\N{GREEK SMALL LETTER PI}": " pi ",
        "^": " ** ",
    }
)
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9]|,[0-9])(?:\.[0-9]*)?")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NAME = re.compile(r"(?:math\.)?([A-Za-z_][A-Za-z0-9_]*)")
_OPERATOR = re.compile(r"\*\*|//|[-+*/%(),\[\]]")
_OF = re.compile(r"\s*of\b", re.IGNORECASE)
_GROUPING_COMMA = re.compile(r"(?<=[0-9]),[0-9]{3}(?![0-9])")


class ArithmeticTextError(ValueError):
    """The text is no arithmetic, or has two readings; the message says what to write instead."""


class _Bracket(NamedTuple):
    """An open bracket: where its operand starts, and the styles of comma seen directly in it."""

    start: int
    commas: set[str] | None
    """None where commas do not separate: in brackets that only group."""


def to_python(text: str, names: Collection[str]) -> str:
    """Rewrite arithmetic as a Python expression of numbers, operators, brackets and `names`.

    >>> to_python("15% of 1,200 = ?", names=())
    '( 15 / 100 ) * 1200'

    Args:
        text: What the model wrote; a trailing "=" or "?" is dropped.
        names: Functions and constants, in lower case. Names in the text may be in upper case.

    Raises:
        ArithmeticTextError: A character, a name, a comma or a percent sign cannot be read.
    """
    return " ".join(_Reader(text.translate(_SYMBOLS).strip().rstrip("=? \t\r\n"), names).read())


class _Reader:
    """One pass over the text, from left to right."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        self.names = names
        self.position = 0
        self.parts: list[str] = []
        self.brackets: list[_Bracket] = []
        self.operand = 0
        """Index in `parts` at which the operand that was read last begins."""

    def read(self) -> list[str]:
        while self.position < len(self.text):
            if self.text[self.position].isspace():
                self.position += 1
            elif not (self._number() or self._name() or self._operator()):
                raise ArithmeticTextError(
                    f"The character {self.text[self.position]!r} cannot be used."
                )
        return self.parts

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found

    def _number(self) -> bool:
        separates = self.brackets and self.brackets[-1].commas is not None
        found = (None if separates else self._take(_GROUPED)) or self._take(_NUMBER)
        if found is None:
            return False
        digits = found[0].replace(",", "")
        self.operand = len(self.parts)
        self.parts.append(digits.lstrip("0") or "0" if digits.isdigit() else digits)
        return True

    def _name(self) -> bool:
        found = self._take(_NAME)
        if found is None:
            return False
        name = found[1].lower()
        if name not in self.names:
            raise ArithmeticTextError(f"The name {found[1]!r} is not known.")
        self.operand = len(self.parts)
        self.parts.append(name)
        return True

    def _operator(self) -> bool:
        found = self._take(_OPERATOR)
        if found is None:
            return False
        if found[0] == "%":
            self._percent()
            return True
        if found[0] in "([":
            self._open(found[0])
        elif found[0] == ",":
            self._comma()
        elif found[0] in ")]" and self.brackets:
            self.operand = self.brackets.pop().start
        self.parts.append(found[0])
        return True

    def _open(self, bracket: str) -> None:
        is_call = bracket == "(" and bool(self.parts) and self.parts[-1] in self.names
        start = len(self.parts) - is_call
        self.brackets.append(_Bracket(start, set() if is_call or bracket == "[" else None))

    def _comma(self) -> None:
        styles = self.brackets[-1].commas if self.brackets else None
        if styles is None:
            raise ArithmeticTextError("A comma stands where nothing is to be separated.")
        if _GROUPING_COMMA.match(self.text, self.position - 1):
            styles.add("grouping")
        elif self.text[self.position : self.position + 1].isspace():
            styles.add("spaced")
        if styles == {"grouping", "spaced"}:
            raise ArithmeticTextError(
                "Commas can group digits or separate arguments here: write numbers without commas."
            )

    def _percent(self) -> None:
        """Read the sign as "hundredths" or as "remainder"; refuse it where it could be both."""
        share = bool(self._take(_OF))
        rest = self.text[self.position :].lstrip()
        if not share and re.match(r"[0-9.A-Za-z_(\[]", rest):
            self.parts.append("%")
            return
        before = ["", "", *self.parts[: self.operand]][-2:]
        added = before[1] in ("+", "-") and before[0][-1:] not in ("", *"+-*/%(,[")
        divided = before[1] in ("/", "//", "%", "**")
        unclear = divided if share else added or rest.startswith(("+", "-", "%"))
        if unclear:
            raise ArithmeticTextError(
                "The percent sign has two readings here: write percentages as fractions of 100."
            )
        self.parts.insert(self.operand, "(")
        self.parts += ["/", "100", ")", *(["*"] if share else [])]
