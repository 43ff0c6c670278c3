"""The store in a SQLite file keeps working while other connections write to the file."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp

from graph_agent.backends import open_backend
from graph_agent.backends.events import Numbered
from graph_agent.events import AnswerDelta

pytestmark = pytest.mark.anyio

ROUNDS = 200


async def test_reads_and_writes_at_once_are_not_refused_while_events_are_stored(
    tmp_path: Path,
) -> None:
    backend = await open_backend(f"sqlite:///{tmp_path}/t.sqlite")
    run = await backend.events.begin("t")

    async def tell() -> None:
        for number in range(run, run + ROUNDS):
            event = AnswerDelta(content="x").wire()
            await backend.events.append("t", run, [Numbered(number, event)])

    telling = asyncio.ensure_future(tell())
    for number in range(ROUNDS):
        _, found = await asyncio.gather(
            backend.store.aput(("n",), "k", {"number": number}, index=False),
            backend.store.aget(("n",), "k"),
        )
        assert (found.value["number"] if found else -1) in (number - 1, number)
    await telling
    await backend.close()


async def test_each_operation_of_a_batch_gets_its_own_result(tmp_path: Path) -> None:
    backend = await open_backend(f"sqlite:///{tmp_path}/t.sqlite")
    await backend.store.aput(("n",), "known", {"old": True}, index=False)

    results: list[Any] = await backend.store.abatch(
        [
            GetOp(("n",), "known"),
            PutOp(("n",), "known", {"old": False}, index=False),
            SearchOp(("n",)),
            ListNamespacesOp(),
            GetOp(("n",), "new"),
        ]
    )
    first, put, found, listed, missing = results
    after = await backend.store.aget(("n",), "known")
    await backend.close()

    values = [item and item.value for item in (first, missing, after)]
    assert values == [{"old": True}, None, {"old": False}]
    assert put is None
    assert [item.value for item in found] == [{"old": True}]
    assert listed == [("n",)]
