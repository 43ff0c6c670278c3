"""The `calculator` tool: arithmetic without `eval`, bounded in time and in size."""

import ast
import math
import operator
from collections.abc import Callable
from itertools import chain

from langchain_core.tools import ToolException, tool
from simpleeval import EvalWithCompoundTypes, InvalidExpression

from graph_agent.tools.builtin.arithmetic_text import ArithmeticTextError, to_python

MAX_CHARACTERS = 1_000
"""Length of an expression."""
MAX_BITS = 10_000
"""Size of an integer, in the result and on the way: about 3,000 decimal digits."""
MAX_ROUND_DIGITS = 300
"""Digits that `round` takes, to either side of the point: more than a float has."""


@tool(parse_docstring=True)
def calculator(expression: str) -> str:
    """Compute the value of an arithmetic expression.

    Args:
        expression: Numbers, + - * / // % ** and parentheses; sqrt, round, min, max, abs, floor,
            ceil, log, log10, exp, sin, cos, tan (radians), sum, pi, e.
    """
    if len(expression) > MAX_CHARACTERS:
        raise _refusal(f"The expression has {len(expression)} characters; {MAX_CHARACTERS} fit.")
    shown = repr(expression if len(expression) < 100 else f"{expression[:100]}…")
    try:
        return _text(_number(_EVALUATOR.eval(to_python(expression, _NAMES))))
    except ArithmeticTextError as error:
        raise _refusal(str(error)) from error
    except ZeroDivisionError as error:
        raise ToolException(f"{shown} divides by zero, which has no value.") from error
    except OverflowError as error:
        raise ToolException(f"{shown} takes numbers that are too large to compute.") from error
    except (RecursionError, MemoryError) as error:
        raise ToolException(f"{shown} is too deep. Compute it in several steps.") from error
    except (SyntaxError, InvalidExpression) as error:
        raise _refusal(f"{shown} is not a complete arithmetic expression.") from error
    except (TypeError, ValueError) as error:
        raise _refusal(f"{shown} cannot be computed: {error}.") from error


def _refusal(what: str) -> ToolException:
    return ToolException(
        f"{what} Allowed are numbers, + - * / // % **, parentheses, and the names "
        f"{', '.join(sorted(_NAMES))}. Write every multiplication with *, as in 2 * (3 + 4)."
    )


def _number(value: object) -> int | float:
    """Let a finite real number of bounded size pass."""
    if isinstance(value, complex):
        raise ValueError("the result is not a real number")
    if not isinstance(value, int | float):
        raise TypeError("a number is missing")
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise OverflowError
    if isinstance(value, float) and not math.isfinite(value):
        raise OverflowError
    return value


def _text(value: int | float) -> str:
    """Write a number without the noise of binary floats.

    >>> _text(0.1 + 0.2), _text(6.0), _text(1 / 3), _text(1234567890123.45)
    ('0.3', '6', '0.333333333333', '1234567890123.45')
    """
    if isinstance(value, int):
        return str(value)
    # Twelve digits hide rounding errors; large amounts need fifteen to keep their cents.
    rounded = float(f"{value:.{12 if abs(value) < 1e9 else 15}g}")
    return str(int(rounded)) if rounded.is_integer() and abs(rounded) < 1e16 else repr(rounded)


def _divide(left: int | float, right: int | float) -> int | float:
    whole = isinstance(left, int) and isinstance(right, int) and right and left % right == 0
    return left // right if whole else left / right


def _power(base: int | float, exponent: int | float) -> object:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and abs(base) > 1 and int(base).bit_length() * exponent > 2 * MAX_BITS:
        raise OverflowError
    return base**exponent


def _root(value: int | float) -> int | float:
    if isinstance(value, int) and value >= 0 and math.isqrt(value) ** 2 == value:
        return math.isqrt(value)
    return math.sqrt(value)


def _round(value: int | float, digits: int = 0) -> int | float:
    if abs(digits) > MAX_ROUND_DIGITS:
        raise OverflowError
    return round(value, digits)


def _limited(operation: Callable[..., object]) -> Callable[..., int | float]:
    """Check what goes into an operation and what comes out of it."""
    return lambda *operands: _number(operation(*map(_number, operands)))


def _function(operation: Callable[..., object]) -> Callable[..., int | float]:
    """Take numbers, and lists of numbers, as the arguments of an operation."""
    limited = _limited(operation)

    def call(*arguments: object) -> int | float:
        lists = [argument if isinstance(argument, list) else [argument] for argument in arguments]
        return limited(*chain.from_iterable(lists))

    return call


_SYNTAX = (ast.Expr, ast.UnaryOp, ast.BinOp, ast.Call, ast.Name, ast.Constant, ast.List)
_OPERATORS = {
    ast.Add: _limited(operator.add),
    ast.Sub: _limited(operator.sub),
    ast.Mult: _limited(operator.mul),
    ast.Div: _limited(_divide),
    ast.FloorDiv: _limited(operator.floordiv),
    ast.Mod: _limited(operator.mod),
    ast.Pow: _limited(_power),
    ast.USub: _limited(operator.neg),
    ast.UAdd: _limited(operator.pos),
}
_FUNCTIONS = {
    "sqrt": _function(_root),
    "round": _function(_round),
    "min": _function(lambda *numbers: min(numbers)),
    "max": _function(lambda *numbers: max(numbers)),
    "sum": _function(lambda *numbers: sum(numbers)),
    "abs": _function(abs),
    "floor": _function(math.floor),
    "ceil": _function(math.ceil),
    "log": _function(math.log),
    "log10": _function(math.log10),
    "exp": _function(math.exp),
    "sin": _function(math.sin),
    "cos": _function(math.cos),
    "tan": _function(math.tan),
}
_CONSTANTS = {"pi": math.pi, "e": math.e}
_NAMES = _FUNCTIONS.keys() | _CONSTANTS.keys()


# One evaluator serves all threads: it keeps nothing between two calls but the text for its errors.
_EVALUATOR = EvalWithCompoundTypes(
    operators=_OPERATORS, functions=dict(_FUNCTIONS), names=dict(_CONSTANTS)
)
_EVALUATOR.nodes = {kind: _EVALUATOR.nodes[kind] for kind in _SYNTAX}
