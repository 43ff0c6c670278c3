"""Runs the endpoint in a process of its own, so that its work is not counted as a contender's.

`python -m benchmarks.endpoint.process` prints its base URL, and ends when its input does.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.contenders import ROOT
from benchmarks.endpoint.connection import Connection, Tally

BACKLOG = 1_024
"""Connections that may wait: a crowd comes at once."""


async def serve() -> None:
    """Answer until nobody holds the other end of the input any more."""
    tally = Tally()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(tally), "127.0.0.1", 0, backlog=BACKLOG)
    over = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), over.set)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await over.wait()


@contextmanager
def endpoint() -> Iterator[str]:
    """Start the endpoint and give its base URL."""
    command = [sys.executable, "-m", "benchmarks.endpoint.process"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


if __name__ == "__main__":
    asyncio.run(serve())
