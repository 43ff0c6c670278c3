"""Messages are added to a thread as LangGraph's own reducer adds them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES, _messages_delta_reducer

from graph_agent.thread_messages import with_messages

IDS = st.sampled_from("abcdef")
MESSAGES = st.one_of(
    st.builds(lambda id: HumanMessage("said", id=id), IDS),
    st.builds(lambda id: AIMessage("answered", id=id), IDS),
    st.builds(lambda id: RemoveMessage(id=id), IDS),
    st.just({"role": "user", "content": "as a form"}),
    st.just(RemoveMessage(id=REMOVE_ALL_MESSAGES)),
)
WRITES = st.lists(st.one_of(MESSAGES, st.lists(MESSAGES, max_size=3)), max_size=3)


def shape(messages: list[Any]) -> list[tuple[str | None, str]]:
    return [(message.id, message.text) for message in messages]


@given(steps=st.lists(st.tuples(st.integers(0, 10), WRITES), max_size=12))
def test_it_gives_what_langgraphs_gives(steps: list[tuple[int, list[Any]]]) -> None:
    """Each step adds to any thread there was before, as LangGraph does within a step."""
    threads: list[tuple[list[Any], list[Any]]] = [([], [])]
    for number, writes in steps:
        ours, theirs = threads[number % len(threads)]
        before = [*ours]
        after = (with_messages(ours, writes), _messages_delta_reducer(theirs, writes))
        assert shape(after[0]) == shape(after[1])
        assert ours == before
        threads.append(after)


@pytest.mark.parametrize("size", [1, 400])
def test_what_is_new_is_all_that_is_looked_at(size: int) -> None:
    looks = 0

    class Watched(HumanMessage):
        """Counts how often its id is read."""

        def __getattribute__(self, name: str) -> Any:
            nonlocal looks
            looks += name == "id"
            return super().__getattribute__(name)

    thread: list[Any] = with_messages([], [[Watched(content="q", id=str(n)) for n in range(size)]])
    thread = with_messages(thread, [Watched(content="first", id="first")])
    looks = 0
    thread = with_messages(thread, [Watched(content="new", id="new")])

    assert (len(thread), looks) == (size + 2, 2)
