"""The checker of event streams accepts what the contract allows, and names what it forbids."""

from typing import Any

import pytest

from graph_agent.testing.event_order import check_events

Event = dict[str, Any]
USAGE = {
    "input_tokens": 1,
    "output_tokens": 1,
    "cached_tokens": 0,
    "calls": 1,
    "by_purpose": {"think": {"input_tokens": 1}},
}
END: Event = {"event": "end", "data": {}}
ERROR: Event = {"event": "error", "data": {"code": "model", "message": "m"}}
SIGNAL: Event = {"event": "step", "data": {"type": "answer", "status": "start"}}
COMPACT: Event = {"event": "compact", "data": {"original_messages": 9, "kept_messages": 3}}
INJECT: Event = {"event": "inject", "data": {"type": "inject", "content": "x", "ids": ["1"]}}
SELECTING: Event = {"event": "phase", "data": {"phase": "selecting_tools", "total_tools": 20}}


def step(kind: str, status: str, iteration: int, **fields: Any) -> Event:
    data = {"type": kind, "status": status, "iteration": iteration} | fields
    return {"event": "step", "data": data}


def thinking(iteration: int, **fields: Any) -> list[Event]:
    return [
        step("thinking", "start", iteration, **fields),
        step("thinking", "done", iteration, reasoning="r", **fields),
    ]


def started(call_id: str = "a", iteration: int = 1, **fields: Any) -> Event:
    known = {"call_id": call_id, "tool_name": "f", "tool_args": {}}
    return step("iteration", "start", iteration, **known | fields)


def ended(call_id: str = "a", iteration: int = 1, **fields: Any) -> Event:
    known = {"call_id": call_id, "tool_name": "f", "tool_args": {}}
    outcome = {"observation": "R", "error": False, "iter_elapsed": 0.1, "artifacts": []}
    return step("iteration", "done", iteration, **known | outcome | fields)


def approval(call_id: str = "a") -> Event:
    data = {"interrupt_id": "i", "tool_name": "f", "tool_args": {}, "call_id": call_id}
    return {"event": "approval", "data": data}


def says(status: str, **fields: Any) -> Event:
    return {"event": "answer", "data": {"status": status} | fields}


def delta(content: str) -> Event:
    return says("delta", content=content)


def answer(*pieces: str) -> list[Event]:
    return [SIGNAL, says("start"), *map(delta, pieces), says("done")]


def done(text: str = "Hi", **fields: Any) -> Event:
    data = {
        "answer": text,
        "iterations": 1,
        "usage": USAGE,
        "elapsed": 0.5,
        "stop_reason": "final",
        "thread_id": "t",
        "run_id": "r",
    }
    return {"event": "done", "data": data | fields}


CALLS = [started("a"), started("b"), ended("b"), ended("a", error=True)]
FINISH = [*answer("H", "i"), done(), END]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([*thinking(1), *FINISH], id="an answer"),
        pytest.param([SELECTING, *thinking(1), *CALLS, *thinking(2), *FINISH], id="parallel calls"),
        pytest.param([*thinking(1), INJECT, COMPACT, *thinking(2), *FINISH], id="no calls"),
        pytest.param(
            [
                *thinking(1),
                started(),
                ended(),
                *thinking(2),
                started(iteration=2),
                ended(iteration=2),
                *thinking(3),
                *FINISH,
            ],
            id="an id used in two iterations",
        ),
        pytest.param(
            [
                *thinking(1),
                SIGNAL,
                says("start"),
                delta("Hal"),
                says("reset"),
                delta("Hi"),
                says("done"),
                done(),
                END,
            ],
            id="reset",
        ),
        pytest.param(
            [*thinking(1), *answer("first"), INJECT, *thinking(2), *FINISH], id="two answers"
        ),
        pytest.param(
            [
                *thinking(1),
                SIGNAL,
                says("start"),
                delta("a"),
                INJECT,
                says("done"),
                *thinking(2),
                *FINISH,
            ],
            id="injected while the answer streams",
        ),
        pytest.param([*thinking(1), done("", stop_reason="cancelled"), END], id="no answer"),
        pytest.param([*thinking(1), *answer("Hi"), done(structured={"n": 1}), END], id="data"),
        pytest.param([ERROR, END], id="error at once"),
        pytest.param([*thinking(1), SIGNAL, ERROR, END], id="error before the answer began"),
        pytest.param([*thinking(1), started(), approval(), END], id="pause within a call"),
        pytest.param([*thinking(1), approval(), END], id="pause before a call"),
        pytest.param(
            [*thinking(1), started("b"), approval("a"), ended("b"), END],
            id="a sibling ends after the question",
        ),
        pytest.param(
            [
                {"event": "phase", "data": {"phase": "planning"}},
                step("thinking", "start", 1, step_id="s1"),
                *thinking(1, step_id="s2"),
                step("thinking", "done", 1, step_id="s1", reasoning=""),
                {"event": "phase", "data": {"phase": "analyzing"}},
                *FINISH,
            ],
            id="steps of a plan side by side",
        ),
        pytest.param([event | {"id": 7} for event in [*thinking(1), *FINISH]], id="with ids"),
    ],
)
def test_streams_that_keep_the_order(events: list[Event]) -> None:
    check_events(events)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([*thinking(4), *FINISH], id="begins at any iteration"),
        pytest.param([ended("a", 3), *thinking(4), *FINISH], id="a call ends"),
        pytest.param(
            [started("b", 3), ended("a", 3), ended("b", 3), *thinking(4), *FINISH],
            id="the rest of a batch",
        ),
    ],
)
def test_streams_that_only_a_resumed_run_may_have(events: list[Event]) -> None:
    check_events(events, resumed=True)

    with pytest.raises(AssertionError, match="Event 0: "):
        check_events(events)


THINK, THOUGHT = thinking(1)
BAD = [
    ([], "The stream has no `end`", "nothing"),
    ([*thinking(1), *FINISH[:-1]], "The stream has no `end`", "no end"),
    ([END], "Event 0: `end` comes before `done` or `error`", "only end"),
    ([ERROR, END, END], "Event 2: `end` comes after `end`", "end twice"),
    ([ERROR, ERROR, END], "Event 1: `error` comes after `done` or `error`", "error twice"),
    ([done(""), ERROR, END], "Event 1: `error` comes after", "done and error"),
    ([ERROR, *thinking(1), END], "`thinking start` comes after `done`", "goes on after error"),
    ([ERROR, END, COMPACT], "Event 2: `compact` comes after `end`", "something after end"),
    ([THINK, THINK], "thinking 1 is still open", "thinking twice"),
    ([THOUGHT], "thinking is done that never started", "done without start"),
    ([THINK, step("thinking", "done", 2, reasoning="")], "2 is done, 1 is open", "other number"),
    ([*thinking(2)], "iteration 2 is not 1", "begins at two"),
    ([*thinking(1), *thinking(1)], "iteration 1 is not 2", "a number twice"),
    ([*thinking(1), *thinking(3)], "iteration 3 is not 2", "a number left out"),
    ([THINK, ERROR], "`error` comes while thinking 1 is open", "thinking left open"),
    ([THINK, started()], "call a is start while thinking is open", "call while thinking"),
    ([*thinking(1), ended()], "call a is done and never started", "call never started"),
    ([*thinking(1), started(), started()], "call a starts twice", "call started twice"),
    ([*thinking(1), *CALLS, ended("a")], "call a was done before", "call done twice"),
    ([*thinking(1), started("a", 2)], "says iteration 2, thinking said 1", "call of another"),
    (
        [*thinking(1), started(), ended(tool_name="g")],
        "started with tool_name='f' and ended with 'g'",
        "another tool",
    ),
    ([*thinking(1), started(), *thinking(2)], "while calls are open: ['a']", "call left open"),
    ([*thinking(1), started(), SIGNAL], "announced while calls are open", "answer during a call"),
    ([*thinking(1), started(), ERROR], "`error` comes while calls are open", "error in a call"),
    ([*thinking(1), says("start")], "without `step` answer start", "answer not announced"),
    ([SIGNAL, SIGNAL], "an answer is announced twice", "announced twice"),
    ([SIGNAL, *thinking(1)], "after an answer was announced", "thinking after the signal"),
    ([SIGNAL, done("")], "announced, before it began", "done after the signal"),
    ([delta("a")], "`answer` delta comes while no answer is open", "delta without start"),
    ([*answer("a"), delta("b")], "`answer` delta comes while no answer", "delta after done"),
    ([*answer("a"), says("done")], "`answer` done comes while no answer", "answer done twice"),
    ([*answer("a"), says("reset")], "`answer` reset comes while no answer", "late reset"),
    ([SIGNAL, says("start"), delta("")], "a delta is empty", "empty delta"),
    ([SIGNAL, says("start"), done("")], "`done` comes while an answer is open", "answer open"),
    ([SIGNAL, says("start"), *thinking(1)], "while an answer is open", "thinking in an answer"),
    ([*answer("a"), *answer("b")], "second answer comes without an `inject`", "two answers"),
    (
        [SIGNAL, says("start"), delta("H"), says("reset"), delta("i"), says("done"), done("Hi")],
        "`done` says 'Hi', the deltas say 'i'",
        "text doubled over a reset",
    ),
    ([*answer("a"), done("b")], "`done` says 'b', the deltas say 'a'", "another answer"),
    ([done("a")], "`done` says 'a', the deltas say ''", "an answer never streamed"),
    ([*thinking(1), started("b"), approval("a"), END], "['b']", "pause beside an open call"),
    (
        [*thinking(1), started(), approval(), ended(), END],
        "`end` comes before `done` or `error`",
        "no done after an answered question",
    ),
    (
        [*thinking(1, step_id="s"), started(step_id="s"), *answer()],
        "while calls of step s are open: ['a']",
        "call of a step left open",
    ),
]


@pytest.mark.parametrize(("events", "message"), [pytest.param(*row[:2], id=row[2]) for row in BAD])
def test_streams_that_break_the_order(events: list[Event], message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_events(events)

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        pytest.param({"event": "token", "data": {}}, "no such event exists: 'token'", id="name"),
        pytest.param({"event": "step", "data": {"type": "x"}}, "no such event", id="type"),
        pytest.param({"event": "end"}, "its data are no object", id="no data"),
        pytest.param({"event": "end", "data": {"a": 1}}, "end cannot have ['a']", id="extra"),
        pytest.param(
            step("thinking", "done", 1), "thinking done lacks ['reasoning']", id="missing"
        ),
        pytest.param(
            step("thinking", "start", True),
            "has iteration=True: a wrong type",
            id="bool as number",
        ),
        pytest.param(ended(error="no"), "has error='no': a wrong type", id="text as bool"),
        pytest.param(ended(artifacts=None), "has artifacts=None", id="null as list"),
        pytest.param(done(stop_reason="gone"), "unknown stop_reason 'gone'", id="stop_reason"),
        pytest.param(done(usage={}), "usage has the keys []", id="usage empty"),
        pytest.param(done(usage=USAGE | {"calls": 1.0}), "counts no integers", id="usage float"),
        pytest.param(done(usage=USAGE | {"by_purpose": 1}), "no object", id="usage by purpose"),
    ],
)
def test_an_event_of_a_wrong_form(event: Event, message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_events([event])

    assert str(caught.value).startswith("Event 0: ")
    assert message in str(caught.value)


def test_the_message_tells_what_came_before() -> None:
    with pytest.raises(AssertionError) as caught:
        check_events([*thinking(1), started(), END])

    assert str(caught.value) == (
        "Event 3: `end` comes before `done` or `error`. "
        "Up to there: thinking start, thinking done, call start."
    )
