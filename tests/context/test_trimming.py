"""The cut fits wherever it can, and never parts what belongs together."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from graph_agent.context.exchanges import exchanges
from graph_agent.context.prompt import prompt_of
from graph_agent.context.tokens import message_tokens
from graph_agent.context.trimming import cut_point
from graph_agent.context.view import Caps
from graph_agent.state import AgentState, said_by_user

MakeState = Callable[..., AgentState]
CAPS = Caps(message=200, pinned=10_000)


def calling(number: int, results: int, length: int) -> list[BaseMessage]:
    ids = [f"c{number}-{n}" for n in range(results)]
    calls = [{"name": "f", "args": {}, "id": i, "type": "tool_call"} for i in ids]
    found = [ToolMessage("word " * (length // 4), tool_call_id=i) for i in ids]
    return [AIMessage("", tool_calls=calls), *found]


def interrupt(length: int) -> list[BaseMessage]:
    kind = {"kind": "interrupt", "ids": []}
    return [HumanMessage("word " * (length // 4), additional_kwargs=kind)]


LENGTHS = st.integers(0, 900)
PIECES = st.one_of(
    st.tuples(st.integers(0, 99), st.integers(1, 3), LENGTHS).map(lambda each: calling(*each)),
    LENGTHS.map(lambda length: [AIMessage("a" * length)]),
    st.integers(0, 90).map(interrupt),
)


def size(state: AgentState, cut: int) -> int:
    view = prompt_of(replace(state, cut=cut), CAPS).messages
    return sum(message_tokens(message) for message in view)


@settings(max_examples=150)
@given(
    before=st.lists(PIECES, max_size=4),
    after=st.lists(PIECES, max_size=6),
    room=st.integers(0, 2_000),
    cut_before=st.booleans(),
)
def test_a_cut_fits_wherever_one_does(
    make_state: MakeState,
    before: list[list[BaseMessage]],
    after: list[list[BaseMessage]],
    room: int,
    *,
    cut_before: bool,
) -> None:
    messages = [message for piece in before for message in piece]
    start = len(messages)
    messages += [HumanMessage("question"), *(message for piece in after for message in piece)]
    state = make_state(messages, start, cut=start if cut_before else 0)
    pieces = list(exchanges(messages, state.cut))
    unseen = [p.start for p in pieces if p.start > start and not said_by_user(p.messages[0])]
    allowed = [p.start for p in pieces if not unseen or p.start <= unseen[-1]]

    cut = cut_point(state, room=room, caps=CAPS)

    assert cut in {state.cut, *allowed, len(messages)}
    assert size(state, cut) <= room or size(state, cut) == min(size(state, a) for a in allowed)
    shown = prompt_of(replace(state, cut=cut), CAPS).messages
    assert [m for m in messages[start:] if said_by_user(m) and m not in shown] == []


@pytest.mark.parametrize(
    ("room", "cut"),
    [
        pytest.param(10_000, 0, id="all fits"),
        pytest.param(250, 3, id="the oldest goes"),
        pytest.param(0, 5, id="nothing fits: the newest stays"),
    ],
)
def test_the_oldest_exchanges_go_first(make_state: MakeState, room: int, cut: int) -> None:
    exchange = [calling(number, 1, 200) for number in range(3)]
    messages = [HumanMessage("q"), *exchange[0], *exchange[1], *exchange[2]]

    assert cut_point(make_state(messages), room=room, caps=CAPS) == cut


def test_unseen_results_stay_although_a_message_came_after_them(make_state: MakeState) -> None:
    messages = [HumanMessage("q"), *calling(0, 1, 300), *calling(1, 1, 300), *interrupt(9)]

    assert cut_point(make_state(messages), room=0, caps=CAPS) == 3


def test_it_never_goes_back(make_state: MakeState) -> None:
    messages = [HumanMessage("q"), *calling(0, 1, 9), *calling(1, 1, 9)]

    assert cut_point(make_state(messages, cut=3), room=10_000, caps=CAPS) == 3


@pytest.mark.parametrize("kind", ["reminder", "reformat", "interrupt"])
def test_results_before_a_message_of_ours_are_not_seen_yet_either(
    make_state: MakeState, kind: str
) -> None:
    ours = HumanMessage("Keep to it.", additional_kwargs={"kind": kind, "ids": []})
    messages = [HumanMessage("q"), *calling(1, 1, 900), *calling(2, 2, 900), ours]

    assert cut_point(make_state(messages), room=0, caps=CAPS) == 3
