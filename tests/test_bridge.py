"""Async code from sync code: results, errors, and no waiting for oneself."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from graph_agent.bridge import iterate_sync, run_sync


async def where() -> tuple[str, int]:
    return threading.current_thread().name, id(asyncio.get_running_loop())


def test_all_work_runs_on_one_loop_in_the_background() -> None:
    (thread, loop), again = run_sync(where()), run_sync(where())

    assert thread == "graph-agent"
    assert again == (thread, loop)


@pytest.mark.anyio
async def test_it_works_where_a_loop_is_running_already() -> None:
    assert run_sync(where())[0] == "graph-agent"


def test_an_error_is_raised_where_it_was_called() -> None:
    async def fail() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        run_sync(fail())


def test_sync_code_below_async_code_is_refused_in_place_of_waiting_for_ever() -> None:
    async def outer() -> None:
        run_sync(where())

    with pytest.raises(RuntimeError, match="Use the async method"):
        run_sync(outer())


async def count(closed: list[bool]) -> AsyncIterator[int]:
    try:
        for number in range(3):
            yield number
    finally:
        closed.append(True)


@pytest.mark.parametrize(("take", "seen"), [(3, [0, 1, 2]), (1, [0])])
def test_an_iteration_is_closed_at_its_end_and_when_it_is_left(take: int, seen: list[int]) -> None:
    closed: list[bool] = []
    items = iterate_sync(count(closed))

    assert [next(items) for _ in range(take)] == seen
    items.close()

    assert closed == [True]


def test_an_iteration_ends() -> None:
    assert list(iterate_sync(count([]))) == [0, 1, 2]
