"""Notices what a person types while something else runs on the event loop."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def typed_lines(take: Callable[[str], None]) -> Iterator[None]:
    """Pass each line that is typed meanwhile to `take`, where stdin is a terminal."""
    loop, terminal = asyncio.get_running_loop(), sys.stdin

    def read() -> None:
        # The terminal hands over whole lines, so this does not block.
        line = terminal.readline()
        if not line:
            loop.remove_reader(terminal.fileno())
        elif text := line.strip():
            take(text)

    watched = terminal.isatty() and _watch(loop, terminal.fileno(), read)
    try:
        yield
    finally:
        if watched:
            loop.remove_reader(terminal.fileno())


def _watch(loop: asyncio.AbstractEventLoop, file: int, read: Callable[[], None]) -> bool:
    try:
        loop.add_reader(file, read)
    except NotImplementedError:
        # On Windows an event loop can only watch sockets: there, one types between the runs.
        return False
    return True
