"""Runs async code from sync code, on one background event loop for the whole process.

It works from a script and from a notebook cell, whose own loop is busy with the cell.
"""

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Coroutine, Generator
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

STOP_PATIENCE = 5.0
"""Seconds that Ctrl-C and the end of the process wait for what they cancelled."""


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; Ctrl-C cancels it and waits until it has ended.

    Raises:
        RuntimeError: The caller is itself async code that `run_sync` runs, and would wait for ever.
    """
    loop, thread = _background()
    if threading.current_thread() is thread:
        work.close()
        raise RuntimeError(
            "Sync code was called from async code that waits for it. Use the async method, as in "
            "`await agent.run(…)`, there."
        )
    tasks: list[asyncio.Task[Any] | None] = []

    async def tracked() -> T:
        tasks.append(asyncio.current_task())
        return await work

    future = asyncio.run_coroutine_threadsafe(tracked(), loop)
    try:
        return future.result()
    except BaseException:
        if not future.done():
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(_cancel(tasks), loop).result(STOP_PATIENCE)
        raise


def iterate_sync(items: AsyncIterator[T]) -> Generator[T, None, None]:
    """Iterate an async iterator; closing the iteration closes it too."""
    _OPEN.append(items)
    try:
        while True:
            try:
                yield run_sync(_next(items))
            except StopAsyncIteration:
                return
    finally:
        if items in _OPEN:  # Else the process is ending, and `_stop` has closed it.
            run_sync(_close(items))


_OPEN: list[AsyncIterator[Any]] = []
"""What `iterate_sync` iterates."""


@cache
def _background() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    loop = asyncio.new_event_loop()
    # A daemon: a script must be able to end while the loop waits.
    thread = threading.Thread(target=loop.run_forever, name="graph-agent", daemon=True)
    thread.start()
    atexit.register(_stop, loop, thread)
    return loop, thread


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """End what still waits, so that nothing complains when the process ends."""
    with suppress(TimeoutError):
        asyncio.run_coroutine_threadsafe(_end_all(), loop).result(STOP_PATIENCE)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(STOP_PATIENCE)
    if not thread.is_alive():
        loop.close()


async def _end_all() -> None:
    for items in [*_OPEN]:
        await _close(items)
    await _cancel([*(asyncio.all_tasks() - {asyncio.current_task()})])


async def _close(items: AsyncIterator[Any]) -> None:
    _OPEN.remove(items)
    close = getattr(items, "aclose", None)
    if close is not None:
        await close()


async def _cancel(tasks: "list[asyncio.Task[Any] | None]") -> None:
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)
