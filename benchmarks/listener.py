"""A client of the served contenders: asks, reads the events, and prints how late each piece came.

`python -m benchmarks.listener ADDRESS QUESTION PROCESS ANSWERS`; PROCESS is the server's.
"""

import json
import sys
import time
from http.client import HTTPConnection

from benchmarks.clocks import cpu_of
from benchmarks.task import STAMP

JSON = {"Content-Type": "application/json"}


def delays(connection: HTTPConnection, question: str, process: int) -> list[tuple[int, int]]:
    """Ask on a new thread; return the wall and CPU nanoseconds of each piece."""
    connection.request("POST", "/api/threads", headers=JSON)
    thread = json.load(connection.getresponse())["thread_id"]
    body = json.dumps({"message": question})
    connection.request("POST", f"/api/threads/{thread}/runs", body, JSON)
    answer, found = connection.getresponse(), []
    # Line by line, for a read of a given size would wait until so much is there.
    while line := answer.readline():
        wall, cpu = time.monotonic_ns(), cpu_of(process)
        if b'"answer"' not in line:  # The end tells the whole answer again.
            stamps = STAMP.findall(line.decode())
            found += [(wall - int(sent), cpu - int(used)) for sent, used in stamps]
    return found


def main() -> None:
    """Print a list of lists."""
    address, question, process, answers = sys.argv[1:]
    connection = HTTPConnection(address)
    print(json.dumps([delays(connection, question, int(process)) for _ in range(int(answers))]))


if __name__ == "__main__":
    main()
