"""What is gathered from a thread is right for every thread, and each message is read once."""

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage

from graph_agent.message_cache import PerThread


def _with_next(seen: list[str], message: BaseMessage) -> list[str]:
    seen.append(message.text)
    return seen


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 10), st.lists(st.sampled_from("abc"), max_size=3)), max_size=12
    ),
    start=st.integers(0, 3),
)
def test_it_is_what_the_messages_say(steps: list[tuple[int, list[str]]], start: int) -> None:
    """Threads grow from each other and part ways."""
    texts = PerThread[list[str]](list, _with_next)
    threads: list[list[BaseMessage]] = [[]]
    for number, added in steps:
        thread = [*threads[number % len(threads)], *map(HumanMessage, added)]
        assert texts(thread, start) == [message.text for message in thread[start:]]
        threads.append(thread)


def test_only_what_is_new_is_read() -> None:
    read: list[str] = []
    texts = PerThread[list[str]](lambda: read, _with_next)
    thread: list[BaseMessage] = [HumanMessage(str(number)) for number in range(400)]
    texts(thread)
    read.clear()

    texts([*thread, HumanMessage("new")])

    assert read == ["new"]
