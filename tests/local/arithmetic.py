"""Evaluates what a small model writes for arithmetic: signs and percentages of everyday use too."""

import ast
import math
import operator
import re
from collections.abc import Callable

OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "abs": abs,
    "round": round,
    "min": min,
    "max": max,
    "floor": math.floor,
    "ceil": math.ceil,
    "log": math.log,
    "log10": math.log10,
    "exp": math.exp,
    "sum": lambda *values: sum(values),
    "pow": pow,
}
CONSTANTS = {"pi": math.pi, "e": math.e}
SIGNS = str.maketrans({"\N{MULTIPLICATION SIGN}": "*", "÷": "/", "^": "**", "\N{MINUS SIGN}": "-"})
LARGEST_BASE, LARGEST_EXPONENT = 1e9, 1000


class ExpressionError(ValueError):
    """The expression has no value; the text says why."""


def evaluate(expression: str) -> float:
    """Return the value of an expression."""
    text = expression.translate(SIGNS).strip().rstrip("=? ")
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", re.sub(r"%\s*of\b", "/100*", text))
    text = re.sub(r"(\d(?:[\d.]*))\s*%(?!\s*[\d(])", r"(\1/100)", text)
    try:
        return _value(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise ExpressionError(f"{expression!r} is not an arithmetic expression") from error
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ExpressionError(str(error)) from error


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name in CONSTANTS:
            return CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            return _operated(sign, _value(left), _value(right))
        case ast.Call():
            return _called(node)
        case ast.List() | ast.Tuple():
            raise ValueError("lists are not supported, write a + b + c")
    raise ValueError(
        "only numbers, + - * / // % ** and parentheses, sqrt, round, min, max, abs are supported"
    )


def _operated(sign: ast.operator, left: float, right: float) -> float:
    if isinstance(sign, ast.Pow) and (abs(right) > LARGEST_EXPONENT or abs(left) > LARGEST_BASE):
        raise ValueError("number too large")
    return OPERATORS[type(sign)](left, right)


def _called(node: ast.Call) -> float:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name not in FUNCTIONS or node.keywords:
        raise ValueError(f"unknown function {name!r}")
    return FUNCTIONS[name](*map(_value, node.args))
