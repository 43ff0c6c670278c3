"""Takes calls that a model wrote as text although tools are offered by the API."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph_agent.json_text import MOST_OBJECTS
from graph_agent.plain_text import cleaned
from graph_agent.protocols.actions import (
    TOO_MANY,
    Action,
    UnreadableError,
    answers_in,
    calls_in,
    is_only_an_action,
    may_become_an_action,
    says_its_type,
)
from graph_agent.protocols.spellings import BETWEEN, Spelled, spelled
from graph_agent.tools.registry import ToolRegistry

DEEPEST_ANSWER = 4
"""Answers within answers that are unwrapped: some models write JSON into the JSON."""
ENDING = 8_000
"""Characters at the end of a text of too many objects that are looked at as well."""
INCOMPLETE = "its JSON is broken or ends too early"


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a text asks for: calls in order, or else an answer."""

    calls: Sequence[Action]
    before: str
    """The words before the first of them."""
    answer: str
    fault: str
    """Why none of the calls may run; empty where they may."""
    fits: bool
    """At least one names a known tool, with arguments that fit."""


def is_raw_call(text: str) -> bool:
    """Tell whether a text would show a person the JSON of a call, or of our final answer.

    An example amid the words of an answer is none, nor are data.

    >>> is_raw_call('Sure: {"name": "add", "arguments": {"a": 1}}')
    True
    >>> is_raw_call('{"name": "Bob", "age": 3}'), is_raw_call("It is 3.")
    (False, False)
    """
    return any(map(_is_raw, _looked_at(text)))


def without_raw_calls(text: str) -> str:
    """Return an answer as a person may read it: the answer that its JSON holds, or nothing.

    >>> without_raw_calls('{"type": "final_answer", "answer": "It is 3.'), without_raw_calls("3")
    ('It is 3.', '3')
    >>> without_raw_calls('{"name": "add", "arguments": {"a": 1}}')
    ''
    """
    for _ in range(DEEPEST_ANSWER):
        items = [item for item in _looked_at(text) if _is_raw(item)]
        if not items:
            return text
        answers = [answer for item in items for answer in answers_in(cleaned(item.data))]
        text = answers[-1] if len(answers) == len(items) else ""
    return ""


def read_written(text: str, tools: ToolRegistry) -> Written | None:
    """Read the calls in a text that call tools; None where it is just an answer.

    Args:
        text: What the model said.
        tools: What there is. An object in a code fence is a call only if it calls one of them.
    """
    items = _looked_at(text)
    too_many = len(items) > MOST_OBJECTS
    raw = [item for item in items if _is_raw(item) or (item.fenced and _fits(item, tools))]
    if not raw:
        return None
    calls = [(call, item) for item in raw for call in _calls(item)]
    fault = "" if all(item.sound for _, item in calls) else INCOMPLETE
    # Where a model repeats itself without end, one call is enough to tell it so.
    taken = calls[:1] if too_many else calls
    return Written(
        calls=[call for call, _ in taken],
        before="" if too_many else _words(text[: raw[0].start]),
        answer=without_raw_calls(text),
        fault=TOO_MANY if too_many else fault,
        fits=any(_fits(item, tools) for item in raw),
    )


def _looked_at(text: str) -> list[Spelled]:
    """List the objects of a text; of one with too many, those at its beginning and at its end."""
    items = spelled(text)
    return items if len(items) <= MOST_OBJECTS else [*items, *spelled(text[-ENDING:])]


def _is_raw(item: Spelled) -> bool:
    stands_out = item.marked or item.outermost or says_its_type(item.data)
    is_action = is_only_an_action(item.data)
    return stands_out and (is_action or (not item.sound and may_become_an_action(item.data)))


def _fits(item: Spelled, tools: ToolRegistry) -> bool:
    calls = list(_calls(item))
    return item.sound and bool(calls) and all(_is_able(call, tools) for call in calls)


def _is_able(call: Action, tools: ToolRegistry) -> bool:
    name = tools.spelled(call.tool)
    if tools.get(name) is None:
        return False
    schema = tools.arguments(name)
    fitted = schema.fitted(call.args)
    return not fitted.dropped and not schema.faults(fitted.args)


def _calls(item: Spelled) -> Iterator[Action]:
    try:
        yield from calls_in(cleaned(item.data))
    except UnreadableError:
        return


def _words(text: str) -> str:
    """Leave out an opening fence or tag at the end."""
    end = next(
        (i for i in range(max(0, len(text) - 80), len(text)) if BETWEEN.fullmatch(text, i)),
        len(text),
    )
    return text[:end].strip()
