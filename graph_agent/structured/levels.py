"""The three ways to ask for data; each has its own number of calls, refused ones too."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from graph_agent.errors import ContextOverflowError
from graph_agent.json_text import find_objects
from graph_agent.models.spec import Abilities
from graph_agent.prompts import STRUCTURED_JSON, STRUCTURED_REFORMAT, STRUCTURED_TOOL
from graph_agent.structured.attempt import Attempt, Form, Found, NotAbleError
from graph_agent.structured.shape import UnfitError

Level = Literal["tool_call", "json_mode", "plain"]
CUT_OFF = "it was cut off by the output limit; send a shorter one"
ARGUMENTS = ("arguments", "args", "parameters")
"""What models call the arguments of a call that they write as text."""
LONGEST_ECHO = 4_000
"""Characters of an unfit reply that it is shown again, so that the second request fits as well."""


def levels(abilities: Abilities) -> Iterator[tuple[Level, Callable[[Attempt], Awaitable[Found]]]]:
    """List the ways that are open to a model, the most reliable one first: 1, 2 and 2 calls."""
    if abilities.tool_call:
        yield "tool_call", by_tool_call
    if abilities.json_mode or abilities.json_schema:
        yield "json_mode", by_json_mode
    yield "plain", by_text


async def by_tool_call(attempt: Attempt) -> Found:
    """Force a call, and take its arguments, or the data from what was written instead."""
    shape = attempt.shape
    about = {"name": shape.name, "description": STRUCTURED_TOOL, **shape.sent("parameters")}
    tools = [{"type": "function", "function": about}]
    reply = await attempt.ask(attempt.messages, "tool_call", tools=tools, tool_choice=shape.name)
    return _read(attempt, reply, [*_called(reply), *_written(reply.text)])


async def by_json_mode(attempt: Attempt) -> Found:
    """Let the endpoint constrain the reply: by the schema, or where it refuses one, to JSON."""
    abilities = attempt.model.abilities
    if not abilities.json_schema:
        return await _by_json(attempt, "json_object", response_format={"type": "json_object"})
    shape = attempt.shape
    form = {"type": "json_schema", "json_schema": {"name": shape.name, **shape.sent("schema")}}
    before = attempt.calls
    try:
        return await _by_json(attempt, "json_schema", response_format=form)
    except NotAbleError:
        if not abilities.json_mode or attempt.calls > before + 1:
            raise
    reply = await attempt.ask(
        _request(attempt), "json_object", response_format={"type": "json_object"}
    )
    return _read(attempt, reply, _in_text(attempt, reply))


async def by_text(attempt: Attempt) -> Found:
    """Ask for JSON in words only."""
    return await _by_json(attempt, "text")


async def _by_json(attempt: Attempt, form: Form, **call: Any) -> Found:
    """Ask for JSON as text, and once more with what was wrong."""
    asked = _request(attempt)
    reply = await attempt.ask(asked, form, **call)
    try:
        return _read(attempt, reply, _in_text(attempt, reply))
    except UnfitError as fault:
        attempt.faults.append(str(fault))
        echo = AIMessage(reply.text[:LONGEST_ECHO] or "{}")
        again = HumanMessage(STRUCTURED_REFORMAT.format(fault=fault))
        try:
            reply = await attempt.ask([*asked, echo, again], form, **call)
        except ContextOverflowError:
            raise fault from None
        return _read(attempt, reply, _in_text(attempt, reply))


def _request(attempt: Attempt) -> list[BaseMessage]:
    """Add the form to the user's last words, so that roles go on alternating."""
    request = STRUCTURED_JSON.format(schema=attempt.shape.words)
    *before, last = attempt.messages
    if not isinstance(last, HumanMessage):
        return [*attempt.messages, HumanMessage(request)]
    if isinstance(last.content, str):
        return [*before, HumanMessage(f"{last.content}\n\n{request}")]
    return [*before, HumanMessage([*last.content, {"type": "text", "text": request}])]


def _read(attempt: Attempt, reply: AIMessage, candidates: Sequence[dict[str, Any]]) -> Found:
    if reply.response_metadata.get("finish_reason") == "length":
        raise UnfitError(CUT_OFF)
    return attempt.read(candidates)


def _called(reply: AIMessage) -> Iterator[dict[str, Any]]:
    """List the arguments of the reply's calls: only one tool was on offer, whatever its name."""
    for call in reply.tool_calls:
        yield call["args"]
    for broken in reply.invalid_tool_calls:
        yield from find_objects(broken["args"] or "")


def _written(text: str) -> Iterator[dict[str, Any]]:
    """List the objects of a text, and the arguments of those that are calls."""
    for found in find_objects(text):
        yield found
        yield from (found[key] for key in ARGUMENTS if isinstance(found.get(key), dict))


def _in_text(attempt: Attempt, reply: AIMessage) -> list[dict[str, Any]]:
    found = list(find_objects(reply.text))
    by_pattern = attempt.regex_fallback(reply.text) if attempt.regex_fallback else None
    return [*found, by_pattern] if by_pattern else found
