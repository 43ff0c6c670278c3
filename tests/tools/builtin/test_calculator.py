"""The calculator: exact, tolerant of how models write, bounded in time and size."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.tools import ToolException

from graph_agent.tools.builtin.calculator import MAX_CHARACTERS, calculator

BOUNDED = settings(deadline=timedelta(seconds=2), max_examples=300)


def value(expression: str) -> str:
    result: str = calculator.invoke({"expression": expression})
    return result


def refusal(expression: str) -> str:
    with pytest.raises(ToolException) as caught:
        value(expression)
    return str(caught.value)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        pytest.param("1234*5678", "7006652", id="integers stay integers"),
        pytest.param("2**200", str(2**200), id="large integers are exact"),
        pytest.param("10**30/10", "1" + "0" * 29, id="a division that comes out is exact"),
        pytest.param("sqrt(10**40)", "1" + "0" * 20, id="a root that comes out is exact"),
        pytest.param("7 // 2 + 7 % 4", "6", id="floor division and remainder"),
        pytest.param("0.1+0.2", "0.3", id="no noise of binary floats"),
        pytest.param("10/4", "2.5", id="a division that does not come out"),
        pytest.param("1/3", "0.333333333333", id="twelve digits"),
        pytest.param("1234567890123.45 * 1", "1234567890123.45", id="large amounts keep cents"),
        pytest.param("1e15 + 0.5", "1000000000000000", id="beyond fifteen digits"),
        pytest.param("1e20 * 1.5", "1.5e+20", id="very large floats"),
        pytest.param("5 * 0.2", "1", id="a whole float is written as an integer"),
        pytest.param("0 * -1.0", "0", id="no negative zero"),
        pytest.param("-2**2", "-4", id="a power binds before the sign"),
        pytest.param("007 + 1", "8", id="leading zeros"),
        pytest.param("round(2.567, 2)", "2.57", id="round"),
        pytest.param("min(3, 1) + max(2, 5) + abs(-4)", "10", id="min, max and abs"),
        pytest.param("floor(2.7) + ceil(2.1)", "5", id="floor and ceil"),
        pytest.param("log(e) + log10(1000) + log(8, 2)", "7", id="logarithms"),
        pytest.param("exp(0) + sin(0) + cos(0) + tan(0)", "2", id="exp and trigonometry"),
        pytest.param("sum(1, 2, 3)", "6", id="sum"),
        pytest.param("sum([1, 2, 3]) / 2", "3", id="a list as argument"),
    ],
)
def test_it_computes(expression: str, result: str) -> None:
    assert value(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        pytest.param(
            "3 \N{MULTIPLICATION SIGN} 4 \N{DIVISION SIGN} 2",
            "6",
            id="signs of multiplication and division",
        ),
        pytest.param("5\N{MINUS SIGN}3", "2", id="minus sign"),
        pytest.param("2^10", "1024", id="caret is a power"),
        pytest.param("5² + 2³", "33", id="superscripts"),
        pytest.param("1,234.5 + 1,000", "2234.5", id="thousands commas"),
        pytest.param("sqrt((1,600))", "40", id="thousands commas in brackets that only group"),
        pytest.param("max(1,200)", "200", id="in a call a comma separates"),
        pytest.param("12 * 3 = ?", "36", id="a question at the end"),
        pytest.param("2 +\n3", "5", id="a line break"),
        pytest.param("SQRT(16) + Pi * 0", "4", id="capital letters"),
        pytest.param("math.sqrt(16)", "4", id="a module's name"),
        pytest.param("15% of 80", "12", id="percent of"),
        pytest.param("15 %of 1,200", "180", id="percent of a grouped number"),
        pytest.param("(100 - 15)% of 80", "68", id="percent of, after brackets"),
        pytest.param("sqrt(16)% of 50", "2", id="percent of, after a call"),
        pytest.param("20% of 15% of 300", "9", id="percent of percent of"),
        pytest.param("100 + 10% of 50", "105", id="percent of, added"),
        pytest.param("80 * 15%", "12", id="percent at the end"),
        pytest.param("-5% * 200", "-10", id="percent in the middle"),
        pytest.param("2**50% * 0 + min(50%, 1)", "0.5", id="percent binds before everything"),
        pytest.param("17 % 5", "2", id="percent between numbers is a remainder"),
    ],
)
def test_it_reads_what_models_write(expression: str, result: str) -> None:
    assert value(expression) == result


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("9**9**9", id="tower of powers"),
        pytest.param("10**3100", id="long integer"),
        pytest.param("2**9999 * 2**9999", id="product"),
        pytest.param("1e308**2", id="float power"),
        pytest.param("1e999", id="infinite literal"),
        pytest.param("exp(1000)", id="exp"),
        pytest.param("10**400 / 3", id="integer too large for a float"),
        pytest.param("round(5, -10**9)", id="round to a billion digits"),
    ],
)
def test_what_is_too_large_is_refused(expression: str) -> None:
    assert refusal(expression) == f"{expression!r} takes numbers that are too large to compute."


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        pytest.param("", "'' is not a complete", id="empty"),
        pytest.param("2 +", "'2 +' is not a complete", id="incomplete"),
        pytest.param("2(3)", "'2(3)' is not a complete", id="no sign of multiplication"),
        pytest.param("2 pi", "'2 pi' is not a complete", id="no sign before a name"),
        pytest.param("max(**pi)", "'max(**pi)' is not a complete", id="unpacking"),
        pytest.param("x + 1", "The name 'x' is not known.", id="variable"),
        pytest.param("__import__('os')", "The name '__import__' is not known.", id="builtin"),
        pytest.param("max(1 for e in pi)", "The name 'for' is not known.", id="comprehension"),
        pytest.param("True", "The name 'True' is not known.", id="truth value"),
        pytest.param("$5", "The character '$' cannot be used.", id="currency"),
        pytest.param("1; 2", "The character ';' cannot be used.", id="two expressions"),
        pytest.param("'a' * 9", 'The character "\'" cannot be used.', id="text"),
        pytest.param("1,00,000", "A comma stands where", id="other grouping"),
        pytest.param("max(1,200, 3)", "Commas can group digits", id="two uses of the comma"),
        pytest.param("200 - 10%", "The percent sign has two readings", id="percent off"),
        pytest.param("10 % -3", "The percent sign has two readings", id="percent and minus"),
        pytest.param("100 / 10% of 50", "The percent sign has two readings", id="over percent"),
        pytest.param("[1, 2] * 3", "'[1, 2] * 3' cannot be computed", id="list times number"),
        pytest.param("sqrt + 1", "'sqrt + 1' cannot be computed", id="function without arguments"),
        pytest.param("sqrt(-1)", "'sqrt(-1)' cannot be computed: math domain", id="no real root"),
        pytest.param("(-8)**0.5", "'(-8)**0.5' cannot be computed: the result", id="complex"),
        pytest.param("sqrt(4, 9)", "'sqrt(4, 9)' cannot be computed", id="too many arguments"),
        pytest.param("1" * 1001, "The expression has 1001 characters", id="too long"),
    ],
)
def test_what_is_no_arithmetic_is_refused_with_what_is_allowed(
    expression: str, reason: str
) -> None:
    message = refusal(expression)

    assert message.startswith(reason)
    assert message.endswith(
        "Allowed are numbers, + - * / // % **, parentheses, and the names abs, ceil, cos, e, exp, "
        "floor, log, log10, max, min, pi, round, sin, sqrt, sum, tan. Write every multiplication "
        "with *, as in 2 * (3 + 4)."
    )


def test_division_by_zero_says_so() -> None:
    assert refusal("3 % (2 - 2)") == "'3 % (2 - 2)' divides by zero, which has no value."


def test_deep_nesting_is_refused() -> None:
    assert refusal("-" * 900 + "1").endswith(" is too deep. Compute it in several steps.")


INTEGERS = st.recursive(
    st.integers(min_value=0, max_value=10**12).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        inner.map(lambda text: f"(-{text})"),
    ),
    max_leaves=20,
)


@given(INTEGERS)
@BOUNDED
def test_integer_expressions_equal_those_of_python(expression: str) -> None:
    try:
        expected = str(eval(expression))
    except ZeroDivisionError:
        assert "divides by zero" in refusal(expression)
    else:
        assert value(expression) == expected


@given(st.text() | st.text(alphabet="0123456789.,()[]+-*/%^ eEpioflmaxsqrtround=?", max_size=60))
@example("9" * MAX_CHARACTERS)
@example("9" + "**9" * 333)
@example("\ud800")
@example("0" * 999 + "1")
@BOUNDED
def test_no_text_raises_anything_but_a_tool_exception(text: str) -> None:
    with suppress(ToolException):
        float(value(text))
