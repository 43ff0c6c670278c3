"""The list of threads: titles, times, and the order of use."""

import pytest
from langgraph.store.memory import InMemoryStore

from graph_agent.threads import TITLE_CHARS, ThreadList

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        pytest.param([""], "", id="not asked yet"),
        pytest.param(["", "First", "Second"], "First", id="the first question stays"),
        pytest.param(["  two\n\n lines "], "two lines", id="one line"),
        pytest.param(["가" * 200], "가" * TITLE_CHARS, id="cut"),
    ],
)
async def test_the_first_text_makes_the_title(texts: list[str], title: str) -> None:
    threads = ThreadList(InMemoryStore())

    for text in texts:
        await threads.touch("t", text)

    (info,) = await threads.newest()
    assert info.title == title
    assert info == await threads.get("t")


async def test_pages_do_not_overlap() -> None:
    threads = ThreadList(InMemoryStore())
    for number in range(25):
        await threads.touch(f"t{number}")

    pages = [await threads.newest(10, offset) for offset in (0, 10, 20, 30)]

    listed = [info.thread_id for page in pages for info in page]
    assert listed == [f"t{number}" for number in reversed(range(25))]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
