"""Whatever a user, a model or a tool gives: it is stored, opens again, and no request breaks."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command
from pydantic import BaseModel

from graph_agent import ConfigError, ReActAgent, build_graph
from graph_agent.backends import Backend, open_backend
from graph_agent.prompts import SUMMARIZE, SYNTHESIS_SYSTEM
from graph_agent.testing import ScriptedChatModel
from graph_agent.threads.listing import config_for

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]

BROKEN = "nul \x00, half \ud83d, 서울 🙂"
CLEAN = "nul \ufffd, half ?, 서울 🙂"
LARGE = 5_000_000
"""Characters."""


@dataclass
class Point:
    x: int
    seen: datetime


class City(BaseModel):
    name: str
    since: date


class Frame:
    """As a table is: with columns, and neither true nor false."""

    def __bool__(self) -> bool:
        raise ValueError("The truth value of a Frame is ambiguous.")

    def __eq__(self, other: object) -> Any:
        return Frame()

    __hash__ = object.__hash__

    def __len__(self) -> int:
        return 2

    def __str__(self) -> str:
        return "   a  b\n0  1  2"


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
CYCLE: list[Any] = []
CYCLE.append(CYCLE)

RESULTS: dict[str, tuple[Any, str | None]] = {
    "broken text": (BROKEN, CLEAN),
    "large text": ("x" * LARGE, "x" * LARGE),
    "bytes": ("서울".encode(), "서울"),
    "no text": (b"\xff\xfe", "(2 bytes that are no text)"),
    "bytes in data": ({"raw": b"\xff"}, '{"raw":"(1 bytes that are no text)"}'),
    "set": ({"b", "a"}, '["a","b"]'),
    "datetime": (NOON, "2026-01-02T12:00:00+00:00"),
    "timedelta": ({"took": timedelta(seconds=1)}, '{"took":"0:00:01"}'),
    "decimal": ({"price": Decimal("1.10")}, '{"price":"1.10"}'),
    "uuid": ([UUID(int=1)], '["00000000-0000-0000-0000-000000000001"]'),
    "dataclass": (Point(1, NOON), '{"x":1,"seen":"2026-01-02T12:00:00+00:00"}'),
    "model": ([City(name="서울", since=NOON.date())], '[{"name":"서울","since":"2026-01-02"}]'),
    "frame": (Frame(), "   a  b\n0  1  2"),
    "frame in data": ({"table": Frame()}, '{"table":"   a  b\\n0  1  2"}'),
    "broken key": ({"k\x00\ud83d": [{"v": "\x00"}]}, None),
    "large number": ({"n": 2**70}, f'{{"n": {2**70}}}'),
    "no number": ([float("nan"), float("inf")], "[null,null]"),
    "odd keys": ({(1, 2): 3, None: 4}, None),
    "error": (ValueError("no"), "no"),
    "nothing": (None, "(no output)"),
    "lock": (threading.Lock(), None),
    "generator": ((n for n in range(3)), None),
    "cycle": (CYCLE, None),
    "blocks": ([{"type": "text", "text": BROKEN}], CLEAN),
    "odd blocks": ([{"type": "text", "text": "seen", "at": NOON, "by": {"ann"}}], "seen"),
}
"""What a tool returns, and what the model reads; None where that may be anything."""


def unplain(data: Any, place: str = "") -> list[str]:
    """List the places of what is no plain data: text that UTF-8 holds, numbers, lists, dicts."""
    if data is None or isinstance(data, bool | float):
        return []
    if isinstance(data, int):
        return [] if data.bit_length() < 64 else [place]
    if isinstance(data, str):
        broken = "\x00" in data or data != data.encode("utf-8", "replace").decode()
        return [place] if broken else []
    if isinstance(data, list):
        return [at for n, each in enumerate(data) for at in unplain(each, f"{place}.{n}")]
    if isinstance(data, dict):
        pairs = (unplain(k, f"{place} key") + unplain(v, f"{place}.{k}") for k, v in data.items())
        return [at for each in pairs for at in each]
    return [f"{place}: {type(data).__name__}"]


async def reopened(stage: Any, thread_id: str = "thread") -> dict[str, Any]:
    """Open the database once more and return what a thread holds."""
    database = stage.agent.settings.database
    async with ReActAgent(ScriptedChatModel(replies=[]), database=database) as reader:
        values: dict[str, Any] = (await reader.snapshot(thread_id)).values
        return values


async def expect_plain(stage: Any, thread_id: str = "thread") -> dict[str, Any]:
    """Expect that a thread is the same after reopening, and plain data; returns what it holds."""
    before = (await stage.agent.snapshot(thread_id)).values
    values = await reopened(stage, thread_id)
    assert values == before
    others = {key: value for key, value in values.items() if key not in ("messages", "held")}
    assert unplain(others) == []
    dumped = [m.model_dump(exclude={"artifact"}) for m in values["messages"]]
    assert unplain(dumped, "messages") == []
    assert stage.endpoint.rejected == []
    return values


@pytest.fixture
async def backend(database: str) -> AsyncIterator[Backend]:
    opened = await open_backend(database)
    yield opened
    await opened.close()


async def test_these_tests_open_checkpoints_under_strict_rules() -> None:
    """R9.6: else a type that opens here would not do so where the rules are strict."""
    serde = JsonPlusSerializer()

    opened = serde.loads_typed(serde.dumps_typed(Point(1, NOON)))

    assert not isinstance(opened, Point)


async def test_any_result_is_stored_and_read(
    set_stage: SetStage, speech: Any, database: str
) -> None:
    """B83."""

    def give(name: str) -> Any:
        """Give.

        Args:
            name: Of a result.
        """
        return RESULTS[name][0]

    calls = speech.calls(*(("give", {"name": name}) for name in RESULTS))
    stage = set_stage(
        [calls, speech.final("draft"), "Answer.", "Again."], [give], database=database
    )

    assert await stage.answer("Go") == "Answer."
    values = await expect_plain(stage)
    texts = [m.text for m in values["messages"] if isinstance(m, ToolMessage)]
    expected = {name: text for name, (_, text) in RESULTS.items() if text is not None}
    read = {name: text for name, text in zip(RESULTS, texts, strict=True) if name in expected}
    assert read == expected


async def test_blocks_hold_no_more_than_what_is_read(
    set_stage: SetStage, speech: Any, tmp_path: Path
) -> None:
    """B84."""

    def give() -> Any:
        """Give."""
        return [{"type": "text", "text": "seen", "cache": threading.Lock()}]

    database = f"sqlite:///{tmp_path}/t.sqlite"
    replies = [speech.calls(("give", {})), speech.final("draft"), "Answer."]
    stage = set_stage(replies, [give], database=database)

    assert await stage.answer("Go") == "Answer."
    values = await expect_plain(stage)
    assert [m.text for m in values["messages"] if isinstance(m, ToolMessage)] == ["seen"]


ARTIFACTS: dict[str, Any] = {
    "lock": threading.Lock(),
    "frame": Frame(),
    "broken text": {BROKEN: [BROKEN]},
    "set": {1, 2},
    "bytes": b"\x00\xff",
    "model": City(name="서울", since=NOON.date()),
}


@pytest.mark.parametrize("name", ARTIFACTS)
async def test_any_artifact_leaves_the_state_plain(
    set_stage: SetStage, speech: Any, tmp_path: Path, name: str
) -> None:
    """B84."""

    @tool(response_format="content_and_artifact")
    def draw() -> Any:
        """Draw."""
        return "drawn", ARTIFACTS[name]

    database = f"sqlite:///{tmp_path}/t.sqlite"
    replies = [speech.calls(("draw", {})), speech.final("draft"), "Answer."]
    stage = set_stage(replies, [draw], database=database)

    assert await stage.answer("Go") == "Answer."
    values = await expect_plain(stage)
    assert values["messages"][2].text == "drawn"


@pytest.mark.parametrize("kind", ["message", "command"])
async def test_a_message_that_a_tool_makes_itself_brings_no_more_than_its_content(
    set_stage: SetStage, speech: Any, tmp_path: Path, kind: str
) -> None:
    """B84."""

    def note() -> Any:
        """Note."""
        made = ToolMessage(
            "noted",
            tool_call_id="of another call",
            name=BROKEN,
            artifact=Frame(),
            additional_kwargs={"cache": threading.Lock()},
            response_metadata={"at": NOON},
        )
        return made if kind == "message" else Command(update={"messages": [made]})

    database = f"sqlite:///{tmp_path}/t.sqlite"
    replies = [speech.calls(("note", {})), speech.final("draft"), "Answer."]
    stage = set_stage(replies, [note], database=database)

    assert await stage.answer("Go") == "Answer."
    values = await expect_plain(stage)
    assert [m.text for m in values["messages"] if isinstance(m, ToolMessage)] == ["noted"]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (BROKEN, CLEAN),
        ([BROKEN, {"type": "text", "text": BROKEN}], CLEAN + CLEAN),
        ([{"type": "text", "text": "seen", "at": NOON, "by": threading.Lock()}], "seen"),
        ("y" * LARGE, "y" * LARGE),
    ],
    ids=["broken text", "blocks", "odd blocks", "large text"],
)
async def test_any_question_is_stored_and_answered(
    set_stage: SetStage, speech: Any, database: str, message: Any, text: str
) -> None:
    """B83."""
    stage = set_stage([speech.final("Answer.")], database=database)

    assert await stage.answer(message) == "Answer."
    values = await expect_plain(stage)
    assert values["messages"][0].text == text


async def test_any_arguments_and_answers_are_stored_and_sent_back(
    set_stage: SetStage, speech: Any, database: str
) -> None:
    """B83."""

    def echo(text: str, data: dict[str, Any]) -> Any:
        """Say it again.

        Args:
            text: Any.
            data: More.
        """
        return [text, data]

    args = {"text": "nul \x00, 서울", "data": {"k\x00": ["\x00", 2**70, -(2**70), 0.1, None]}}
    if speech.mode == "native":
        call = {"id": "c1", "name": "echo", "arguments": json.dumps(args)}
        called: Any = {"content": "", "tool_calls": [call]}
    else:
        called = json.dumps({"type": "tool_call", "tool": "echo", "args": args})
    replies = [called, speech.final("draft \x00"), "o\x00k"]
    stage = set_stage(replies, [echo], database=database)

    assert await stage.answer("Go") == "o\ufffdk"
    values = await expect_plain(stage)
    assert values["messages"][1].tool_calls[0]["args"]["text"] == "nul \ufffd, 서울"


async def test_a_summary_may_hold_anything(set_stage: SetStage, speech: Any, database: str) -> None:
    """B83: short texts of the state are stored apart from its messages."""

    def read(page: int) -> str:
        """Read.

        Args:
            page: Which one.
        """
        return f"page {page} " + "Whoever misses the morning train has to wait. " * 80

    def reply(body: dict[str, Any]) -> Any:
        system, asked = body["messages"][0]["content"], orjson.dumps(body["messages"]).decode()
        if system in SUMMARIZE.values():
            return "Read: \x00."
        pages.append(len(pages))
        if system == SYNTHESIS_SYSTEM or len(pages) > 12:
            return "Answer." if system == SYNTHESIS_SYSTEM else speech.final("draft")
        assert asked
        return speech.calls(("read", {"page": len(pages)}))

    pages: list[int] = []
    window = {"context_size": 4_400, "max_output_tokens": 400, "compaction": "summarize"}
    stage = set_stage(reply, [read], database=database, **window)

    assert await stage.answer("Go") == "Answer."
    values = await expect_plain(stage)
    assert "Read: \ufffd." in values["summary"]


SCHEMA = {
    "title": "found",
    "type": "object",
    "properties": {"text": {"type": "string"}, "number": {"type": "integer"}},
    "required": ["text"],
}


@pytest.mark.parametrize(
    "reply",
    ['{"text": "\\u0000", "number": 1}', '{"text": 5, "\\u0000": 1}', "no \x00 data"],
    ids=["data", "misfit", "no data"],
)
async def test_a_structured_answer_may_hold_anything(database: str, reply: str) -> None:
    """B83."""
    model = ScriptedChatModel(replies=["Answer.", *[reply] * 5])
    async with ReActAgent(model, database=database) as agent:
        result = await agent.run("Go", thread_id="t", response_format=SCHEMA)
        values = (await agent.snapshot("t")).values

    assert result.answer == "Answer."
    assert unplain([values["structured"], values["structured_error"]]) == []


@pytest.mark.parametrize("thread_id", ["a\x00b", "a\ud83d"], ids=["nul", "half"])
async def test_a_thread_id_that_cannot_be_stored_is_refused(database: str, thread_id: str) -> None:
    model = ScriptedChatModel(replies=["never"])
    async with ReActAgent(model, database=database) as agent:
        with pytest.raises(ConfigError, match="thread"):
            await agent.run("Go", thread_id=thread_id)

    assert model.asked == []


@pytest.mark.parametrize(
    "given",
    [
        HumanMessage("Go", additional_kwargs={"cache": threading.Lock()}),
        HumanMessage([{"type": "text", "text": "Go", "cache": threading.Lock()}]),
        SystemMessage("Be kind.", additional_kwargs={"cache": Frame()}),
    ],
    ids=["beside the text", "in a block", "in a system message"],
)
async def test_what_a_caller_gives_and_cannot_be_stored_is_named_before_the_model_is_asked(
    backend: Backend, given: Any
) -> None:
    """B84."""
    model = ScriptedChatModel(replies=["never"])
    graph = build_graph(model, checkpointer=backend.checkpointer, store=backend.store)
    messages: Any = {"messages": [given, HumanMessage("Go")]}

    with pytest.raises(ConfigError, match="cache"):
        await graph.ainvoke(messages, config_for("t"))

    assert model.asked == []


async def test_a_write_that_cannot_be_made_breaks_no_other(backend: Backend) -> None:
    """All threads of a process share what writes to the database."""

    async def saved(thread_id: str) -> None:
        place = RunnableConfig(configurable={"thread_id": thread_id, "checkpoint_ns": ""})
        async with asyncio.timeout(10):
            await backend.checkpointer.aput(place, empty_checkpoint(), {}, {})

    broken, *others = await asyncio.gather(
        *map(saved, ("a\ud83d", "b", "c")), return_exceptions=True
    )
    await saved("d")

    assert (type(broken), others) == (UnicodeEncodeError, [None, None])


async def test_what_a_caller_gives_and_can_be_stored_is_cleaned(backend: Backend) -> None:
    """B83."""
    model = ScriptedChatModel(replies=["Answer."])
    graph = build_graph(model, checkpointer=backend.checkpointer, store=backend.store)
    messages: Any = {"messages": [SystemMessage(BROKEN), HumanMessage(BROKEN, name="a\x00")]}

    state = await graph.ainvoke(messages, config_for("t"))

    assert state["answer"] == "Answer."
    assert [m.text for m in state["messages"]] == [CLEAN, CLEAN, "Answer."]
