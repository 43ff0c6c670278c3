"""Events are stored some at a time, in their order, whatever the store does meanwhile."""

import logging
from collections.abc import Sequence

import pytest

from graph_agent.backends.events import Numbered
from graph_agent.backends.memory_events import MemoryEvents
from graph_agent.events import AnswerDelta, End
from graph_agent.runs.event_writer import LAST_TRIES, EventWriter

pytestmark = pytest.mark.anyio


class Recorded(MemoryEvents):
    """A store that fails as often as it is told, and records what it was given at once."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__()
        self.failures = failures
        self.given: list[list[int]] = []

    async def append(self, thread_id: str, run: int, events: Sequence[Numbered]) -> bool:
        self.given.append([numbered.id - run for numbered in events])
        if self.failures:
            self.failures -= 1
            raise ConnectionError("no server")
        return await super().append(thread_id, run, events)


class Desk:
    """A writer, with what it says is stored."""

    def __init__(self, store: Recorded, run: int) -> None:
        self.run = run
        self.stored: list[int] = []
        self.writer = EventWriter(
            store, "t", run, stored=lambda number: self.stored.append(number - run)
        )

    def add(self, *places: int) -> None:
        for place in places:
            self.writer.add(Numbered(self.run + place, AnswerDelta(content="x").wire()))

    async def finish(self, place: int) -> None:
        await self.writer.finish([Numbered(self.run + place, End().wire())])


async def open_desk(store: Recorded) -> Desk:
    return Desk(store, await store.begin("t"))


async def test_what_comes_together_is_stored_at_once_and_the_end_with_it() -> None:
    store = Recorded()
    desk = await open_desk(store)

    desk.add(0, 1, 2)
    await desk.finish(3)

    assert store.given == [[0, 1, 2, 3]]
    assert desk.stored == [3]


async def test_what_waits_is_stored_before_the_end() -> None:
    store = Recorded()
    desk = await open_desk(store)
    async with store.watch("t") as changed:
        desk.add(0)
        await changed()

    desk.add(1)
    await desk.finish(2)

    assert store.given == [[0], [1, 2]]
    assert desk.stored == [0, 2]


async def test_a_store_that_fails_gets_all_of_it_later(caplog: pytest.LogCaptureFixture) -> None:
    store = Recorded(failures=1)
    desk = await open_desk(store)
    async with store.watch("t") as changed:
        desk.add(0, 1)
        while not desk.stored:
            await changed()

    desk.add(2)
    await desk.finish(3)

    assert store.given == [[0, 1], [0, 1], [2, 3]]
    assert caplog.messages == ["events of thread t wait"]


async def test_a_store_that_never_works_ends_no_run(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    store = Recorded(failures=LAST_TRIES)
    desk = await open_desk(store)

    await desk.finish(0)

    assert store.given == [[0]] * LAST_TRIES
    assert desk.stored == []
    assert caplog.messages == ["the end of the run on thread t is not stored"]


async def test_a_run_that_was_closed_from_outside_is_left_as_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Recorded()
    desk = await open_desk(store)
    await store.begin("t")

    desk.add(0)
    await desk.finish(1)
    desk.add(2)
    await desk.finish(3)

    assert store.given == [[0, 1]]
    assert desk.stored == []
    assert caplog.messages == ["the run on thread t was closed from outside"]
