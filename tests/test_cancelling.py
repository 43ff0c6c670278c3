"""Cancelling what another process runs."""

import asyncio

import pytest

from graph_agent.backends import memory_backend
from graph_agent.backends.events import Numbered
from graph_agent.backends.memory_events import MemoryEvents
from graph_agent.events import End
from graph_agent.runs.cancelling import CancelWatch, cancel_elsewhere

pytestmark = pytest.mark.anyio


async def test_what_does_not_stop_in_time_is_told() -> None:
    backend = memory_backend()
    run = await backend.events.begin("t")
    async with backend.leases.hold("t"):
        with pytest.raises(TimeoutError):
            await cancel_elsewhere(backend, "t", patience=0.01)

    assert await backend.events.cancels() == [("t", run)]


async def test_a_run_that_began_after_the_cancel_was_asked_for_is_hit() -> None:
    backend = memory_backend()
    ended = await backend.events.begin("t")
    await backend.events.append("t", ended, [Numbered(ended, End().wire())])
    async with backend.leases.hold("t"):
        cancelling = asyncio.ensure_future(cancel_elsewhere(backend, "t"))
        async with asyncio.timeout(10), backend.events.watch_cancels() as changed:
            run = await backend.events.begin("t")
            while not await backend.events.cancels():
                await changed()
        asked = await backend.events.cancels()
        await backend.events.append("t", run, [Numbered(run, End().wire())])
        assert await cancelling

    assert asked == [("t", run)]


async def test_the_run_after_the_one_that_was_cancelled_goes_on() -> None:
    backend = memory_backend()
    first = await backend.events.begin("t")
    async with backend.leases.hold("t"):
        cancelling = asyncio.ensure_future(cancel_elsewhere(backend, "t"))
        async with asyncio.timeout(10), backend.events.watch_cancels() as changed:
            while await backend.events.cancels() != [("t", first)]:
                await changed()
        await backend.events.begin("t")

        assert await cancelling
    assert await backend.events.cancels() == []


class Unsteady(MemoryEvents):
    """A store that fails once."""

    failed = False

    async def cancels(self) -> list[tuple[str, int]]:
        if not self.failed:
            self.failed = True
            raise ConnectionError("no server")
        return await super().cancels()


async def test_a_store_that_fails_is_looked_into_again(caplog: pytest.LogCaptureFixture) -> None:
    events, heard = Unsteady(), asyncio.Event()
    run = await events.begin("t")
    watch = CancelWatch(events, lambda thread_id, number: heard.set())

    watch.start()
    watch.start()
    await events.ask_to_cancel("t", run)
    await asyncio.wait_for(heard.wait(), 10)
    watch.stop()

    assert caplog.messages == ["nobody can cancel from another process now"]
