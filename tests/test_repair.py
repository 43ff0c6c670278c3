"""A run that broke off leaves a thread that can be asked on: each call has its result."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import orjson
import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from graph_agent import ReActAgent
from graph_agent.errors import ApprovalNeededError
from graph_agent.prompts import CALL_CANCELLED, USER_INTERRUPT
from graph_agent.testing import Gate, Held, ScriptedChatModel

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]


class Batch:
    """Two tools that are called together: when the second one runs, the first one has ended."""

    settings: ClassVar = {"tool_concurrency": 1}

    def __init__(self) -> None:
        self.waiting = asyncio.Event()
        self.ran: list[str] = []

    @property
    def tools(self) -> list[Callable[..., Any]]:
        async def quick() -> str:
            """Return at once."""
            self.ran.append("quick")
            return "quick result"

        async def wait() -> str:
            """Wait for ever, but the first time only."""
            self.ran.append("wait")
            if self.ran.count("wait") == 1:
                self.waiting.set()
                await asyncio.Event().wait()
            return "wait result"

        return [quick, wait]

    async def break_off(self, agent: ReActAgent, message: str = "Go") -> None:
        """Cancel a run while the second tool runs."""
        run = asyncio.ensure_future(agent.run(message, thread_id="t"))
        await self.waiting.wait()
        run.cancel()
        await asyncio.wait([run])


def told(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """Role and text of each message but the system prompt and what only calls tools."""
    return [(message.type, str(message.text)) for message in messages if message.text][1:]


def expect_whole(messages: Sequence[BaseMessage]) -> None:
    """Check that the results of each reply's calls stand directly behind it, in their order."""
    rest = [*messages]
    while rest:
        message = rest.pop(0)
        assert not isinstance(message, ToolMessage), messages
        for call in message.tool_calls if isinstance(message, AIMessage) else []:
            result = rest.pop(0)
            assert isinstance(result, ToolMessage), messages
            assert result.tool_call_id == call["id"], messages


async def test_a_question_after_a_cancel_finds_what_was_done(
    set_stage: SetStage, speech: Any, database: str
) -> None:
    batch, both = Batch(), speech.calls(("quick", {}), ("wait", {}))
    stage = set_stage(
        [both, speech.final("Here.")], batch.tools, database=database, **batch.settings
    )
    await batch.break_off(stage.agent)

    result = await stage.agent.run("Still there?", thread_id="t")

    expect_whole(result.messages)
    assert told(result.messages) == [
        ("human", "Go"),
        ("tool", "quick result"),
        ("tool", CALL_CANCELLED),
        ("human", "Still there?"),
        ("ai", "Here."),
    ]
    cancelled = result.messages[4]
    assert isinstance(cancelled, ToolMessage)
    assert (cancelled.name, cancelled.status) == ("wait", "error")
    assert (batch.ran, stage.endpoint.rejected) == (["quick", "wait"], [])
    assert (await stage.agent.snapshot("t")).values["messages"] == result.messages[1:]


async def test_a_resume_after_a_cancel_runs_only_what_was_not_done(
    set_stage: SetStage, speech: Any, database: str
) -> None:
    batch, both = Batch(), speech.calls(("quick", {}), ("wait", {}))
    script = [both, speech.final("draft"), "Done."]
    stage = set_stage(script, batch.tools, database=database, **batch.settings)
    await batch.break_off(stage.agent)

    result = await stage.agent.resume("t")

    assert batch.ran == ["quick", "wait", "wait"]
    assert [step.observation for step in result.steps] == ["quick result", "wait result"]


async def test_a_fork_of_a_half_done_batch_holds_what_was_done(
    set_stage: SetStage, speech: Any, database: str
) -> None:
    batch, both = Batch(), speech.calls(("quick", {}), ("wait", {}))
    script = [both, speech.final("Forked."), speech.final("draft"), "Done."]
    stage = set_stage(script, batch.tools, database=database, **batch.settings)
    agent: ReActAgent = stage.agent
    await batch.break_off(agent)

    forked = await agent.run("And?", thread_id=await agent.fork("t"))
    resumed = await agent.resume("t")

    results = [("tool", "quick result"), ("tool", CALL_CANCELLED)]
    assert told(forked.messages) == [
        ("human", "Go"),
        *results,
        ("human", "And?"),
        ("ai", "Forked."),
    ]
    assert [step.observation for step in resumed.steps] == ["quick result", "wait result"]
    assert stage.endpoint.rejected == []


async def test_what_was_added_before_the_break_is_kept(set_stage: SetStage, speech: Any) -> None:
    gate, batch, both = Gate(), Batch(), speech.calls(("quick", {}), ("wait", {}))
    script = [Held(gate, both), speech.final("Here."), speech.final("Here.")]
    stage = set_stage(script, batch.tools, **batch.settings)
    run = asyncio.ensure_future(stage.agent.run("Go", thread_id="t"))
    await gate.reached()
    await stage.agent.interrupt("t", "Be brief.")
    gate.open()
    await batch.waiting.wait()
    run.cancel()
    await asyncio.wait([run])

    result = await stage.agent.run("Still there?", thread_id="t")

    expect_whole(result.messages)
    texts = [text for _, text in told(result.messages)]
    # In native mode it was still queued, and is taken in by the new run.
    added = USER_INTERRUPT.format(content="Be brief.")
    assert texts.count(added) == 1
    assert texts.index("Still there?") > texts.index(CALL_CANCELLED)
    assert stage.endpoint.rejected == []


PLACES = ("here", "there")
CALLS: Any = [{"name": "look", "args": {"place": place}, "type": "tool_call"} for place in PLACES]
ACTIONS = [{"type": "tool_call", "tool": "look", "args": {"place": place}} for place in PLACES]
FINAL = {"type": "final_answer", "answer": "draft"}


async def test_a_question_may_take_the_place_of_a_decision(
    set_stage: SetStage, speech: Any, database: str
) -> None:
    ran = list[str]()

    def pay() -> str:
        """Pay, once a person has agreed."""
        interrupt({"approvals": [{"tool_name": "pay"}]})
        ran.append("pay")
        return "paid"

    def look() -> str:
        """Look."""
        ran.append("look")
        return "seen"

    both = speech.calls(("look", {}), ("pay", {}))
    stage = set_stage([both, speech.final("Not paid.")], [look, pay], database=database)
    for ask in (stage.agent.run("Pay.", thread_id="t"), stage.agent.resume("t")):
        with pytest.raises(ApprovalNeededError, match="a decision about `pay`"):
            await ask
    with pytest.raises(ApprovalNeededError):
        await anext(stage.agent.stream_resume("t"))

    result = await stage.agent.run("Wait, do not.", thread_id="t")

    assert told(result.messages)[1:3] == [("tool", "seen"), ("tool", CALL_CANCELLED)]
    assert (result.answer, ran, stage.endpoint.rejected) == ("Not paid.", ["look"], [])


class Dying(InMemorySaver):
    """Fails to save one step, as where the process is killed in the middle of it."""

    def __init__(self) -> None:
        super().__init__()
        # LangGraph works with a copy, which shares this.
        self.plan: dict[str, int | None] = {"dies_at": None}

    async def aput(
        self, config: RunnableConfig, checkpoint: Any, metadata: Any, new_versions: Any
    ) -> RunnableConfig:
        if metadata["step"] == self.plan["dies_at"]:
            raise OSError("killed")
        return await super().aput(config, checkpoint, metadata, new_versions)


def reply_of(mode: str) -> Callable[[list[BaseMessage]], AIMessage | str]:
    """Make a model that calls both tools, then answers, whatever was lost meanwhile."""

    def reply(messages: list[BaseMessage]) -> AIMessage | str:
        if "You write the final answer" in messages[0].text:
            return "Answer."
        if "seen there" in str(messages):
            return "draft" if mode == "native" else orjson.dumps(FINAL).decode()
        if mode == "native":
            return AIMessage(
                "", tool_calls=[{**call, "id": str(n)} for n, call in enumerate(CALLS)]
            )
        return "\n".join(orjson.dumps(action).decode() for action in ACTIONS)

    return reply


@pytest.mark.parametrize("mode", ["native", "json"])
@pytest.mark.parametrize("goes_on", ["asked", "resumed"])
async def test_a_run_may_die_at_any_step(mode: str, goes_on: str) -> None:
    ran = list[str]()

    def look(place: str) -> str:
        """Look."""
        ran.append(place)
        return f"seen {place}"

    async def died_at(step: int) -> bool:
        saver = Dying()
        model = ScriptedChatModel(replies=[reply_of(mode)] * 20, tool_calling=mode == "native")
        async with ReActAgent(model, [look], checkpointer=saver, durability="sync") as agent:
            saver.plan["dies_at"] = step
            try:
                await agent.run("Go", thread_id="t")
            except OSError:
                saver.plan["dies_at"] = None
            else:
                return False
            if goes_on == "asked":
                result = await agent.run("Still there?", thread_id="t")
            else:
                result = await agent.resume("t")
        expect_whole(result.messages)
        assert result.answer in {"Answer.", "draft"}
        assert "Go" in [message.text for message in result.messages]
        return True

    steps = 0
    while await died_at(steps):
        steps += 1

    assert steps > 5
    assert sorted(ran) == ["here"] * (steps + 1) + ["there"] * (steps + 1)
