"""Each event, as it travels."""

import inspect
from typing import Any

import orjson
import pytest

from graph_agent import events
from graph_agent.testing.event_form import FORMS, kind_of
from graph_agent.usage import no_usage

CALL: dict[str, Any] = {
    "iteration": 1,
    "call_id": "c1",
    "tool_name": "add",
    "tool_args": {"a": 1},
}
OUTCOME: dict[str, Any] = {
    "observation": "2",
    "error": False,
    "iter_elapsed": 0.5,
    "artifacts": [],
}
RUN: dict[str, Any] = {
    "answer": "서울 🙂",
    "iterations": 2,
    "usage": no_usage(),
    "elapsed": 1.5,
    "stop_reason": "final",
    "thread_id": "t",
    "run_id": "r",
}

TABLE: dict[str, tuple[events.Event, dict[str, Any]]] = {
    "thinking start": (
        events.ThinkingStart(iteration=1),
        {"type": "thinking", "status": "start", "iteration": 1},
    ),
    "thinking done": (
        events.ThinkingDone(iteration=1, reasoning="why"),
        {"type": "thinking", "status": "done", "iteration": 1, "reasoning": "why"},
    ),
    "call start": (
        events.CallStart(**CALL),
        {"type": "iteration", "status": "start", **CALL},
    ),
    "call done": (
        events.CallDone(**CALL, **OUTCOME),
        {"type": "iteration", "status": "done", **CALL, **OUTCOME},
    ),
    "answer signal": (events.AnswerSignal(), {"type": "answer", "status": "start"}),
    "answer start": (events.AnswerStart(), {"status": "start"}),
    "answer delta": (events.AnswerDelta(content="a"), {"status": "delta", "content": "a"}),
    "answer reset": (events.AnswerReset(), {"status": "reset"}),
    "answer done": (events.AnswerDone(), {"status": "done"}),
    "compact": (
        events.Compacted(original_messages=9, kept_messages=3),
        {"original_messages": 9, "kept_messages": 3},
    ),
    "selecting tools": (
        events.SelectingTools(total_tools=20),
        {"phase": "selecting_tools", "total_tools": 20},
    ),
    "inject": (
        events.Injected(content="stop", ids=["i1"]),
        {"type": "inject", "content": "stop", "ids": ["i1"]},
    ),
    "approval": (
        events.Approval(interrupt_id="a1-c1", call_id="c1", tool_name="send", tool_args={"to": 1}),
        {"interrupt_id": "a1-c1", "call_id": "c1", "tool_name": "send", "tool_args": {"to": 1}},
    ),
    "done": (events.Done(**RUN), RUN),
    "error": (
        events.Failed(code="model", message="down"),
        {"code": "model", "message": "down"},
    ),
    "end": (events.End(), {}),
}


@pytest.mark.parametrize("kind", TABLE)
def test_an_event_travels_as_agreed(kind: str) -> None:
    event, data = TABLE[kind]

    wire = event.wire()

    assert wire == {"event": FORMS[kind].event, "data": data}
    assert kind_of(wire) == kind
    assert orjson.loads(orjson.dumps(wire)) == wire


@pytest.mark.parametrize("structured", [{"n": 1}, None], ids=["made", "failed"])
def test_data_travel_only_where_they_were_asked_for(structured: dict[str, Any] | None) -> None:
    wire = events.Done(**RUN, structured=structured).wire()

    assert wire == {"event": "done", "data": {**RUN, "structured": structured}}
    assert kind_of(wire) == "done"


def test_the_table_has_every_event() -> None:
    written = {type(event) for event, _ in TABLE.values()}

    assert written == {
        kind
        for _, kind in inspect.getmembers(events, inspect.isclass)
        if issubclass(kind, events.Event) and kind is not events.Event
    }


def test_emit_writes_the_wire_form() -> None:
    written: list[Any] = []

    events.emit(written.append, events.End())

    assert written == [{"event": "end", "data": {}}]
