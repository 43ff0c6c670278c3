"""Checks that a run's events come in the order that every client may rely on."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_agent.testing.event_form import kind_of

_LAST_KINDS = 6
"""Events that an error message shows before the faulty one."""


def check_events(events: Sequence[Mapping[str, Any]], *, resumed: bool = False) -> None:
    """Check one run's whole stream of `{"event": name, "data": {…}}`.

    A stream may end without `done` and `error` only where it pauses for a person: an `approval`
    then stands open, and nothing else does.

    Args:
        events: In the order of arrival; further keys beside `event` and `data` are ignored.
        resumed: The run goes on from a checkpoint: iterations may begin at any number, and a call
            may end without having begun in this stream.

    Raises:
        AssertionError: Names the first event that is out of order, and what came before it.
    """
    order = _Order(resumed=resumed)
    kinds: list[str] = []
    for index, event in enumerate(events):
        try:
            kind = kind_of(event)
            order.take(kind, event["data"])
            kinds.append(kind)
        except AssertionError as error:
            before = ", ".join(kinds[-_LAST_KINDS:]) or "nothing"
            raise AssertionError(f"Event {index}: {error}. Up to there: {before}.") from None
    assert order.ended, f"The stream has no `end`. Its last events: {kinds[-_LAST_KINDS:]}."


@dataclass
class _Lane:
    """One agent's steps; a plan runs several side by side, told apart by `step_id`."""

    iteration: int | None = None
    thinking: bool = False
    calls: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Open calls: call id → data of their start."""
    finished: set[tuple[int, str]] = field(default_factory=set)
    """Iteration and id of calls that are over."""


@dataclass
class _Order:
    """How far the stream has come."""

    resumed: bool
    lanes: dict[str | None, _Lane] = field(default_factory=dict)
    signalled: bool = False
    """An answer was announced, and has not begun."""
    answer: list[str] | None = None
    """Deltas of the open answer since its last reset."""
    answered: bool = False
    """An answer has begun, and no message was injected since."""
    text: str = ""
    """The last finished answer."""
    asked: set[str] = field(default_factory=set)
    """Calls that wait for a person's approval."""
    finished: bool = False
    ended: bool = False

    def take(self, kind: str, data: Mapping[str, Any]) -> None:
        assert not self.ended, f"`{kind}` comes after `end`"
        assert not self.finished or kind == "end", f"`{kind}` comes after `done` or `error`"
        lane = self.lanes.setdefault(data.get("step_id"), _Lane())
        match kind.split():
            case "thinking", status:
                self._think(lane, status, data)
            case "call", status:
                self._call(lane, status, data)
            case "answer", status:
                self._answer(status, data)
            case ["inject"]:
                self.answered = False
            case ["approval"]:
                self.asked.add(data["call_id"])
            case ["done" | "error"]:
                self._finish(kind, data)
            case ["end"]:
                self._end()

    def _think(self, lane: _Lane, status: str, data: Mapping[str, Any]) -> None:
        iteration: int = data["iteration"]
        if status == "done":
            assert lane.thinking, "thinking is done that never started"
            assert iteration == lane.iteration, f"{iteration} is done, {lane.iteration} is open"
            lane.thinking = False
            return
        self._assert_no_answer("thinking starts")
        assert not lane.thinking, f"thinking {lane.iteration} is still open"
        assert not lane.calls, f"thinking starts while calls are open: {sorted(lane.calls)}"
        expected = (lane.iteration or 0) + 1
        anywhere = self.resumed and lane.iteration is None
        assert anywhere or iteration == expected, f"iteration {iteration} is not {expected}"
        lane.iteration, lane.thinking = iteration, True

    def _call(self, lane: _Lane, status: str, data: Mapping[str, Any]) -> None:
        call_id: str = data["call_id"]
        self._assert_no_answer(f"call {call_id} is {status}")
        assert not lane.thinking, f"call {call_id} is {status} while thinking is open"
        assert (data["iteration"], call_id) not in lane.finished, f"call {call_id} was done before"
        if status == "start":
            self._start_call(lane, data)
        else:
            self._end_call(lane, data)

    def _start_call(self, lane: _Lane, data: Mapping[str, Any]) -> None:
        call_id, iteration = data["call_id"], data["iteration"]
        assert call_id not in lane.calls, f"call {call_id} starts twice"
        anywhere = self.resumed and lane.iteration is None
        assert anywhere or iteration == lane.iteration, (
            f"call {call_id} says iteration {iteration}, thinking said {lane.iteration}"
        )
        lane.calls[call_id] = data

    def _end_call(self, lane: _Lane, data: Mapping[str, Any]) -> None:
        call_id = data["call_id"]
        assert call_id in lane.calls or self.resumed, f"call {call_id} is done and never started"
        start = lane.calls.pop(call_id, data)
        for key in ("iteration", "tool_name", "tool_args"):
            assert data[key] == start[key], (
                f"call {call_id} started with {key}={start[key]!r} and ended with {data[key]!r}"
            )
        self.asked.discard(call_id)
        lane.finished.add((data["iteration"], call_id))

    def _answer(self, status: str, data: Mapping[str, Any]) -> None:
        if status == "signal":
            self._assert_nothing_runs("an answer is announced")
            assert not self.signalled, "an answer is announced twice"
            assert not self.answered, "a second answer comes without an `inject` before it"
            self.signalled = True
        elif status == "start":
            assert self.signalled, "`answer` starts without `step` answer start"
            self.signalled, self.answer, self.answered = False, [], True
        else:
            assert self.answer is not None, f"`answer` {status} comes while no answer is open"
            self._continue_answer(self.answer, status, data)

    def _continue_answer(self, answer: list[str], status: str, data: Mapping[str, Any]) -> None:
        if status == "delta":
            assert data["content"], "a delta is empty"
            answer.append(data["content"])
        elif status == "reset":
            answer.clear()
        else:
            self.text, self.answer = "".join(answer), None

    def _finish(self, kind: str, data: Mapping[str, Any]) -> None:
        self._assert_nothing_runs(f"`{kind}` comes")
        self.finished = True
        if kind == "done":
            assert not self.signalled, "`done` comes after an answer was announced, before it began"
            assert data["answer"] == self.text, (
                f"`done` says {data['answer']!r}, the deltas say {self.text!r}"
            )

    def _end(self) -> None:
        assert self.finished or self.asked, "`end` comes before `done` or `error`"
        self._assert_nothing_runs("`end` comes", waiting=self.asked)
        self.ended = True

    def _assert_nothing_runs(self, event: str, waiting: Collection[str] = ()) -> None:
        for step, lane in self.lanes.items():
            where = f" of step {step}" if step else ""
            calls = sorted(lane.calls.keys() - set(waiting))
            assert not lane.thinking, f"{event} while thinking {lane.iteration}{where} is open"
            assert not calls, f"{event} while calls{where} are open: {calls}"
        assert self.answer is None, f"{event} while an answer is open"

    def _assert_no_answer(self, event: str) -> None:
        assert self.answer is None, f"{event} while an answer is open"
        assert not self.signalled, f"{event} after an answer was announced"
