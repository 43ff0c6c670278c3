"""Names and fields of a run's events, written down apart from the code that emits them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

STOP_REASONS = frozenset(
    {
        "final",
        "max_iterations",
        "repeated_calls",
        "token_limit",
        "time_limit",
        "cancelled",
        "error",
    }
)
_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "calls")
_STEP = {"step_id": (str, NoneType)}
_CALL = {"iteration": (int,), "call_id": (str,), "tool_name": (str,), "tool_args": (dict,)}


@dataclass(frozen=True)
class Form:
    """One kind of event: its name, the values that tell it apart, and its other fields."""

    event: str
    fixed: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, tuple[type, ...]] = field(default_factory=dict)
    optional: Mapping[str, tuple[type, ...]] = field(default_factory=dict)


FORMS = {
    "thinking start": Form(
        "step", {"type": "thinking", "status": "start"}, {"iteration": (int,)}, _STEP
    ),
    "thinking done": Form(
        "step",
        {"type": "thinking", "status": "done"},
        {"iteration": (int,), "reasoning": (str,)},
        _STEP,
    ),
    "call start": Form("step", {"type": "iteration", "status": "start"}, _CALL, _STEP),
    "call done": Form(
        "step",
        {"type": "iteration", "status": "done"},
        _CALL
        | {
            "observation": (str,),
            "error": (bool,),
            "iter_elapsed": (int, float),
            "artifacts": (list,),
        },
        _STEP,
    ),
    "answer signal": Form("step", {"type": "answer", "status": "start"}),
    "answer start": Form("answer", {"status": "start"}),
    "answer delta": Form("answer", {"status": "delta"}, {"content": (str,)}),
    "answer reset": Form("answer", {"status": "reset"}),
    "answer done": Form("answer", {"status": "done"}),
    "compact": Form("compact", {}, {"original_messages": (int,), "kept_messages": (int,)}, _STEP),
    "selecting tools": Form("phase", {"phase": "selecting_tools"}, {"total_tools": (int,)}, _STEP),
    "planning": Form("phase", {"phase": "planning"}, {}, {"round": (int,)}),
    "executing": Form("phase", {"phase": "executing"}, {}, {"round": (int,), "steps": (list,)}),
    "analyzing": Form("phase", {"phase": "analyzing"}, {}, {"round": (int,)}),
    "inject": Form("inject", {"type": "inject"}, {"content": (str,), "ids": (list,)}, _STEP),
    "approval": Form(
        "approval",
        {},
        {"interrupt_id": (str,), "tool_name": (str,), "tool_args": (dict,), "call_id": (str,)},
        _STEP,
    ),
    "done": Form(
        "done",
        {},
        {
            "answer": (str,),
            "iterations": (int,),
            "usage": (dict,),
            "elapsed": (int, float),
            "stop_reason": (str,),
            "thread_id": (str,),
            "run_id": (str,),
        },
        {"structured": (dict, NoneType)},
    ),
    "error": Form("error", {}, {"code": (str,), "message": (str,)}),
    "end": Form("end"),
}
"""Every kind of event, by the name that messages call it."""


def kind_of(event: Mapping[str, Any]) -> str:
    """Say which kind an event is, and check its fields.

    Raises:
        AssertionError: It is of no kind, lacks a field, has an unknown one, or one of a wrong type.
    """
    name, data = event.get("event"), event.get("data")
    assert isinstance(data, Mapping), f"its data are no object: {event!r}"
    for kind, form in FORMS.items():
        if form.event == name and form.fixed.items() <= data.items():
            _check_fields(kind, form, data)
            return kind
    raise AssertionError(f"no such event exists: {name!r} with {dict(data)!r}")


def _check_fields(kind: str, form: Form, data: Mapping[str, Any]) -> None:
    given = data.keys() - form.fixed.keys()
    assert not (missing := sorted(form.fields.keys() - given)), f"{kind} lacks {missing}"
    known = {**form.fields, **form.optional}
    assert not (unknown := sorted(given - known.keys())), f"{kind} cannot have {unknown}"
    for key in given:
        assert type(data[key]) in known[key], f"{kind} has {key}={data[key]!r}: a wrong type"
    if kind == "done":
        _check_done(data)


def _check_done(data: Mapping[str, Any]) -> None:
    assert data["stop_reason"] in STOP_REASONS, f"unknown stop_reason {data['stop_reason']!r}"
    usage = data["usage"]
    assert usage.keys() == {*_COUNTS, "by_purpose"}, f"usage has the keys {sorted(usage)}"
    assert all(type(usage[key]) is int for key in _COUNTS), f"usage counts no integers: {usage}"
    assert isinstance(usage["by_purpose"], dict), f"by_purpose is no object: {usage}"
