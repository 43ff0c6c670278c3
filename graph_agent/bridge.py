"""Runs async code from sync code, on one background event loop for the whole process.

It works from a script and from a notebook cell, whose own loop is busy with the cell.
"""

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

STOP_PATIENCE = 5.0
"""Seconds that the end of the process waits for the loop."""


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    # A daemon: a script must be able to end while the loop waits.
    thread = threading.Thread(target=loop.run_forever, name="graph-agent", daemon=True)
    thread.start()
    atexit.register(_stop, loop, thread)
    return loop


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """Cancel what still waits, so that nothing complains when the process ends."""

    async def cancel_all() -> None:
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for work in waiting:
            work.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run_coroutine_threadsafe(cancel_all(), loop).result(STOP_PATIENCE)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(STOP_PATIENCE)


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; Ctrl-C cancels it."""
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def iterate_sync(items: AsyncIterator[T]) -> Iterator[T]:
    """Iterate an async iterator; closing the iteration closes it too."""
    try:
        while True:
            try:
                yield run_sync(_next(items))
            except StopAsyncIteration:
                return
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            run_sync(close())


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)
