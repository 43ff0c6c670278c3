"""A program that opens a contender, asks one question that needs no tool, and ends.

`python -m benchmarks.first_answer ADAPTER ENDPOINT FOLDER`; prints the CPU nanoseconds until then.
"""

import asyncio
import sys
import time
from pathlib import Path

from benchmarks.contenders import opening
from benchmarks.contract import Place
from benchmarks.measurements.warming import answered


async def main() -> None:
    """Ask, and print."""
    adapter, endpoint, folder = sys.argv[1:]
    async with opening(adapter)(Place(endpoint=endpoint, folder=Path(folder))) as loop:
        await answered(loop, 0, "t")
        print(time.process_time_ns(), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
