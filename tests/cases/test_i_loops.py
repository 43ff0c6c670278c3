"""Group I: loops end, with an answer, and no message is lost at the end."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from graph_agent import NotRunningError, ReActAgent
from graph_agent.interrupts import InterruptQueue
from graph_agent.prompts import REPEATED_CALL
from graph_agent.testing import Deltas, Gate, Held, ScriptedChatModel, check_events

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
NOTE = "\n\n*Stopped at the limit of {}; this is what was found until then.*"


def ls(p: int, o: int) -> str:
    """List.

    Args:
        p: Page.
        o: Offset.
    """
    return "empty"


def look(n: int) -> str:
    """Look a fact up.

    Args:
        n: Which.
    """
    return f"fact {n}"


def asking_for_ever(speech: Any, calls: Any, answer: Any = "Summary") -> Callable[[Any], Any]:
    """Make each loop request one more call, and give the synthesis `answer`."""

    def reply(body: dict[str, Any]) -> Any:
        return answer if body.get("stream") else speech.calls(next(calls))

    return reply


async def test_b92_the_same_call_again_and_again_is_told_and_then_stopped(
    set_stage: SetStage, speech: Any
) -> None:
    orders = itertools.cycle([{"p": 1, "o": 2}, {"o": 2, "p": 1}])
    calls = (("ls", args) for args in orders)
    stage = set_stage(asking_for_ever(speech, calls), [ls], max_iterations=30)

    result = await stage.agent.run("q", thread_id="thread")

    assert (result.stop_reason, result.iterations) == ("repeated_calls", 5)
    assert result.answer == "Summary" + NOTE.format("5 equal calls with equal results")
    assert [step.observation.removeprefix("empty") for step in result.steps] == [
        "",
        "",
        REPEATED_CALL,
        REPEATED_CALL,
        REPEATED_CALL,
    ]
    assert REPEATED_CALL in str(stage.sent(3)[-1][1])
    assert REPEATED_CALL not in stage.sent(5)[-1][1]
    assert stage.endpoint.rejected == []


async def test_b92_results_that_differ_are_no_repetition(set_stage: SetStage, speech: Any) -> None:
    states = (f"{n} %" for n in itertools.count())

    def poll(job: str) -> str:
        """Ask how far a job is.

        Args:
            job: Which.
        """
        return next(states)

    calls = itertools.repeat(("poll", {"job": "a"}))
    stage = set_stage(asking_for_ever(speech, calls), [poll], max_iterations=8)

    result = await stage.agent.run("q")

    assert (result.stop_reason, result.iterations) == ("max_iterations", 8)
    assert [step.observation for step in result.steps] == [f"{n} %" for n in range(8)]


async def test_b92_equal_calls_of_one_reply_count_once(set_stage: SetStage, speech: Any) -> None:
    same = ("ls", {"p": 1, "o": 2})
    stage = set_stage([speech.calls(*[same] * 6), speech.final("Empty."), "Empty."], [ls])

    result = await stage.agent.run("q")

    assert (result.stop_reason, {s.observation for s in result.steps}) == ("final", {"empty"})


async def test_b92_a_new_run_counts_anew(set_stage: SetStage, speech: Any) -> None:
    turn = [speech.calls(("ls", {"p": 1, "o": 2})), speech.final("Empty."), "Empty."]
    stage = set_stage(turn * 4, [ls])

    results = [await stage.agent.run("q", thread_id="thread") for _ in range(4)]

    assert {step.observation for r in results for step in r.steps} == {"empty"}


async def test_b92_the_counts_are_settings(set_stage: SetStage, speech: Any) -> None:
    calls = itertools.repeat(("ls", {"p": 1, "o": 2}))
    stage = set_stage(
        asking_for_ever(speech, calls), [ls], repeated_calls_warn=1, repeated_calls_stop=2
    )

    result = await stage.agent.run("q")

    assert (result.stop_reason, result.iterations) == ("repeated_calls", 2)
    assert [step.observation for step in result.steps] == [f"empty{REPEATED_CALL}"] * 2


async def test_b92_a_message_meanwhile_keeps_the_run_going(
    set_stage: SetStage, speech: Any
) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Wait."""
        started.set()
        await go_on.wait()
        return "empty"

    replies = [speech.calls(("wait", {})), speech.calls(("wait", {})), speech.final("Ok."), "Ok."]
    stage = set_stage(replies, [wait], repeated_calls_stop=1)
    run = asyncio.create_task(stage.ask("q"))
    await started.wait()
    await stage.agent.interrupt("thread", "try it once more")
    go_on.set()

    done = (await run)[-2]["data"]

    assert (done["stop_reason"], done["iterations"]) == ("repeated_calls", 2)


async def test_b92_nor_does_a_message_that_came_with_the_call_let_it_stop(
    set_stage: SetStage, speech: Any
) -> None:
    gate, call = Gate(), speech.calls(("look", {"n": 1}))
    stage = set_stage([Held(gate, call), speech.final("Ok."), "Ok."], [look], repeated_calls_stop=1)
    run = asyncio.create_task(stage.ask("q"))
    await gate.reached()
    await stage.agent.interrupt("thread", "once is fine")
    gate.open()

    done = (await run)[-2]["data"]

    assert (done["stop_reason"], done["answer"]) == ("final", "Ok.")


async def test_b94_fifty_iterations_are_possible_and_then_one_synthesis(
    set_stage: SetStage, speech: Any
) -> None:
    calls = (("look", {"n": n}) for n in itertools.count())
    stage = set_stage(asking_for_ever(speech, calls), [look])

    result = await stage.agent.run("q")

    assert (result.stop_reason, result.iterations) == ("max_iterations", 50)
    assert result.answer == "Summary" + NOTE.format("50 iterations")
    streamed = [request for request in stage.endpoint.requests if request.streamed]
    assert (stage.endpoint.asked, len(streamed)) == (51, 1)
    assert "tools" not in streamed[0].body
    assert all(f"fact {n}" in str(streamed[0].body["messages"]) for n in range(50))


CALLS_AS_ANSWERS = [
    pytest.param('{"type": "tool_call", "tool": "look", "args": {"n": 9}}', id="object"),
    pytest.param('```json\n{"name": "look", "arguments": {"n": 9}}\n```', id="fence"),
    pytest.param('<tool_call>{"name": "look", "arguments": {"n": 9}}</tool_call>', id="tags"),
    pytest.param('[{"name": "look", "arguments": {"n": 9}}]', id="list"),
    pytest.param('{"type": "tool_call", "tool": "look", "args": {"n": ', id="half"),
    pytest.param(
        {"content": "", "tool_calls": [{"id": "c", "name": "look", "arguments": {"n": 9}}]},
        id="native",
    ),
    pytest.param(
        {"content": "One more.", "tool_calls": [{"id": "c", "name": "look", "arguments": "{}"}]},
        id="native, with words",
    ),
]


@pytest.mark.parametrize("answer", CALLS_AS_ANSWERS)
async def test_b94_a_synthesis_that_is_again_a_call_is_not_shown(
    set_stage: SetStage, speech: Any, answer: Any
) -> None:
    calls = (("look", {"n": n}) for n in itertools.count())
    stage = set_stage(asking_for_ever(speech, calls, answer), [look], max_iterations=2)

    events = await stage.ask("q")

    assert events[-2]["data"]["answer"] == (
        "The work is not finished. This is what was done and found:\n\n"
        "- `look` found: fact 0\n- `look` found: fact 1" + NOTE.format("2 iterations")
    )
    told = "".join(e["data"].get("content", "") for e in events if e["event"] == "answer")
    assert "{" not in told


async def test_b95_a_message_while_the_answer_streams_is_answered_in_the_run(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    stream = Deltas([*({"content": letter} for letter in "Final ans"), gate, {"content": "wer"}])
    replies = [
        speech.calls(("look", {"n": 1})),
        speech.final("Draft."),
        stream,
        speech.final("To the late one."),
        "Both.",
    ]
    stage = set_stage(replies, [look])
    run = asyncio.create_task(stage.ask("q"))
    await gate.reached()
    await stage.agent.interrupt("thread", "late")
    gate.open()

    events = await run

    assert events[-2]["data"]["answer"] == "Both."
    assert [e["data"]["content"] for e in events if e["event"] == "inject"] == ["late"]


async def test_b95_a_message_with_the_last_iteration_is_answered(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    replies = [Held(gate, speech.calls(("look", {"n": 1}))), speech.final("Both."), "Both."]
    stage = set_stage(replies, [look], max_iterations=1)
    run = asyncio.create_task(stage.ask("q"))
    await gate.reached()
    await stage.agent.interrupt("thread", "late")
    gate.open()

    done = (await run)[-2]["data"]

    assert (done["answer"], done["stop_reason"], done["iterations"]) == ("Both.", "final", 2)


class PutsLate(InMemorySaver):
    """Adds a message while the run's last step is saved: nothing of the run looks any more."""

    def __init__(self, queue: InterruptQueue) -> None:
        super().__init__()
        self.queue, self.put_one = queue, False

    async def aput(
        self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any
    ) -> RunnableConfig:
        if checkpoint["channel_values"].get("stop_reason") and not self.put_one:
            self.put_one = True
            await self.queue.put("late")
        return await super().aput(config, checkpoint, metadata, new_versions)


async def test_b95_a_message_while_the_last_step_is_saved_is_answered_in_the_run(
    speech: Any,
) -> None:
    store = InMemoryStore()
    saver = PutsLate(InterruptQueue(store, "thread"))
    model = ScriptedChatModel(replies=[speech.final("First."), speech.final("Both.")])
    native = speech.mode == "native"
    agent = ReActAgent(model, checkpointer=saver, store=store, use_native_tools=native)

    events = [event async for event in agent.stream("q", thread_id="thread")]

    check_events(events)
    assert [e["data"]["content"] for e in events if e["event"] == "inject"] == ["late"]
    assert [e["data"]["answer"] for e in events if e["event"] == "done"] == ["Both."]
    messages = (await agent.snapshot("thread")).values["messages"]
    assert [message.type for message in messages] == ["human", "ai", "human", "ai"]
    assert await saver.queue.pending() == []


async def test_b95_a_message_after_the_end_is_not_accepted(
    set_stage: SetStage, speech: Any
) -> None:
    stage = set_stage([speech.final(text) for text in ("First.", "Second.")])
    await stage.ask("q")

    with pytest.raises(NotRunningError, match="Ask it a question instead"):
        await stage.agent.interrupt("thread", "late")

    assert "inject" not in [event["event"] for event in await stage.ask("next")]


async def test_b95_what_a_client_of_the_store_queued_too_late_is_told_in_the_next_run_once(
    set_stage: SetStage, speech: Any
) -> None:
    stage = set_stage([speech.final(text) for text in ("First.", "Second.", "Both.", "Third.")])
    await stage.ask("q")
    queued = await InterruptQueue(await stage.agent.store(), "thread").put("late")

    events = await stage.ask("next")
    again = await stage.ask("more")

    assert [e["data"]["ids"] for e in events if e["event"] == "inject"] == [[queued.id]]
    assert events[-2]["data"]["answer"] == "Both."
    assert "inject" not in [event["event"] for event in again]
