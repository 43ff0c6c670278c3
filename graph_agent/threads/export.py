"""Writes a thread down as data: what was asked, done and answered in each run, and all messages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from langchain_core.messages import BaseMessage, SystemMessage, message_to_dict
from pydantic import BaseModel, ConfigDict

from graph_agent.plain_text import cleaned
from graph_agent.state import AgentState, RunUsage, StopReason, is_question
from graph_agent.sync_graph import AgentGraph
from graph_agent.threads.history import checkpoint
from graph_agent.threads.listing import ThreadInfo, config_for
from graph_agent.threads.repair import saver_of
from graph_agent.trace import StepRecord, step_records

JSON = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE


class ExportedRun(BaseModel):
    """One run: a question, and what was done for it; None is what is not known any more."""

    model_config = ConfigDict(frozen=True)

    start: int
    """Index in `messages` of its question; the run ends where the next one starts."""
    run_id: str | None = None
    started_at: datetime | None = None
    iterations: int | None = None
    """Model calls of the loop."""
    stop_reason: StopReason | None = None
    """Why it ended; None also where it was not finished."""
    usage: RunUsage | None = None
    steps: list[StepRecord]
    """Its tool calls, in order."""


class ExportedThread(BaseModel):
    """A thread, with all that is saved of it."""

    thread_id: str
    title: str
    created_at: datetime | None
    updated_at: datetime | None
    runs: list[ExportedRun]
    messages: list[dict[str, Any]]
    """In LangChain's own form, as `langchain_core.messages.messages_from_dict` reads them."""


@dataclass(frozen=True, kw_only=True)
class ThreadContent:
    """A thread as it is written down in whatever form."""

    thread_id: str
    info: ThreadInfo | None
    """Its line on the list; a thread that was made without us has none."""
    messages: Sequence[BaseMessage]
    runs: Sequence[ExportedRun]

    @property
    def title(self) -> str:
        """What it is called; empty where nothing was asked yet."""
        return self.info.title if self.info else ""

    def of_run(self, number: int) -> Sequence[BaseMessage]:
        """Return the messages of a run, its question first; `number` counts from 0."""
        ends = [run.start for run in self.runs[number + 1 : number + 2]]
        return self.messages[self.runs[number].start : ends[0] if ends else None]


async def content_of(graph: AgentGraph, thread_id: str, info: ThreadInfo | None) -> ThreadContent:
    """Read a thread.

    Raises:
        ThreadNotFoundError: Nothing is saved of it, and it is not on the list.
    """
    if info is not None and await saver_of(graph).aget_tuple(config_for(thread_id)) is None:
        return ThreadContent(thread_id=thread_id, info=info, messages=(), runs=())
    values = (await checkpoint(graph, thread_id)).values
    messages = AgentState(**values).messages
    ended = await _ended_runs(graph, thread_id, values)
    starts = [*_starts(messages)]
    runs = [
        _run(messages[start:end], start, ended.get(start))
        for start, end in zip(starts, [*starts[1:], None], strict=True)
    ]
    return ThreadContent(thread_id=thread_id, info=info, messages=messages, runs=runs)


def as_json(content: ThreadContent) -> str:
    """Spell a thread as the JSON of an `ExportedThread`; the same one is always spelt the same."""
    info = content.info
    exported = ExportedThread(
        thread_id=content.thread_id,
        title=content.title,
        created_at=info.created_at if info else None,
        updated_at=info.updated_at if info else None,
        runs=list(content.runs),
        messages=[message_to_dict(message) for message in content.messages],
    )
    return orjson.dumps(cleaned(exported.model_dump()), default=str, option=JSON).decode()


def _starts(messages: Sequence[BaseMessage]) -> Iterator[int]:
    """Find where runs begin: with the first of the user's messages that follow one another."""
    asking = False
    for index, message in enumerate(messages):
        if is_question(message) and not asking:
            yield index
        asking = is_question(message) or (asking and isinstance(message, SystemMessage))


async def _ended_runs(
    graph: AgentGraph, thread_id: str, newest: Mapping[str, Any]
) -> dict[int, AgentState]:
    """Find what is known of each run by the index of its question: the state that it ended with.

    That is the checkpoint before the one by which the next question was taken in. Only those are
    read, and without their messages.
    """
    saver, found = saver_of(graph), [newest]
    inputs = saver.alist(config_for(thread_id), filter={"source": "input"})
    for parent in [taken_in.parent_config async for taken_in in inputs]:
        saved = await saver.aget_tuple(parent) if parent else None
        found.append(saved.checkpoint["channel_values"] if saved else {})
    fields = ("turn", "iteration", "usage", "stop_reason")
    states = [
        AgentState(**{name: values[name] for name in fields if name in values}) for values in found
    ]
    # The newest first: where a run was gone on with, its last state counts.
    return {state.turn["start"]: state for state in reversed(states) if state.turn["run_id"]}


def _run(messages: Sequence[BaseMessage], start: int, ended: AgentState | None) -> ExportedRun:
    steps = step_records(messages)
    if ended is None:
        return ExportedRun(start=start, steps=steps)
    return ExportedRun(
        start=start,
        run_id=ended.turn["run_id"],
        started_at=datetime.fromtimestamp(ended.turn["started_at"], UTC),
        iterations=ended.iteration,
        stop_reason=ended.stop_reason,
        usage=ended.usage,
        steps=steps,
    )
