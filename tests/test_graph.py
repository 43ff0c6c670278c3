"""Whole runs before a strict endpoint, in both modes."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from graph_agent import ReActAgent, RunOptions, build_graph
from graph_agent.events import WireEvent
from graph_agent.prompts import SYSTEM_PROMPT, UNREADABLE_REASONING
from graph_agent.testing import Deltas, Drop, Gate, Held, HttpError, ScriptedChatModel

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


def fail(reason: str) -> str:
    """Fail.

    Args:
        reason: Why.
    """
    raise ConnectionError(reason)


def told(events: list[WireEvent]) -> list[tuple[str, str | None, str | None]]:
    """Name, type and status of each event."""
    return [(e["event"], e["data"].get("type"), e["data"].get("status")) for e in events]


async def test_an_answer_without_tools_takes_one_call(set_stage: SetStage, speech: Any) -> None:
    stage = set_stage([speech.final("Paris")], [add])

    events = await stage.ask("Capital of France?")

    assert told(events) == [
        ("step", "thinking", "start"),
        ("step", "thinking", "done"),
        ("step", "answer", "start"),
        ("answer", None, "start"),
        ("answer", None, "delta"),
        ("answer", None, "done"),
        ("done", None, None),
        ("end", None, None),
    ]
    assert events[-2]["data"]["answer"] == "Paris"
    assert [request.streamed for request in stage.endpoint.requests] == [False]


async def test_tools_run_and_a_second_call_streams_the_answer(
    set_stage: SetStage, speech: Any
) -> None:
    replies = [speech.calls(("add", {"a": 1, "b": 2})), speech.final("3"), "It is **3**."]
    stage = set_stage(replies, [add])

    result = await stage.agent.run("1 + 2?", thread_id="thread")

    assert result.answer == "It is **3**."
    assert [(s.tool_name, s.tool_args, s.observation, s.error) for s in result.steps] == [
        ("add", {"a": 1, "b": 2}, "3", False)
    ]
    assert (result.iterations, result.stop_reason) == (2, "final")
    assert [request.streamed for request in stage.endpoint.requests] == [False, False, True]
    assert [type(message).__name__ for message in result.messages] == [
        "SystemMessage",
        "HumanMessage",
        "AIMessage",
        "ToolMessage",
        "AIMessage",
    ]
    assert result.messages[0].text == SYSTEM_PROMPT


async def test_three_parallel_calls_are_one_round(set_stage: SetStage, speech: Any) -> None:
    meet = asyncio.Barrier(3)

    async def wait_for_all(n: int) -> int:
        """Return once all three run.

        Args:
            n: Any number.
        """
        await meet.wait()
        return n

    calls = [("wait_for_all", {"n": n}) for n in (1, 2, 3)]
    stage = set_stage([speech.calls(*calls), speech.final("done"), "All done."], [wait_for_all])

    result = await stage.agent.run("Go")

    assert [step.observation for step in result.steps] == ["1", "2", "3"]
    assert {step.iteration for step in result.steps} == {1}
    assert [r.streamed for r in stage.endpoint.requests] == [False, False, True]
    assert stage.endpoint.rejected == []
    roles = [role for role, _ in stage.sent(1)]
    native = ["system", "user", "assistant", "tool", "tool", "tool"]
    assert roles == (native if speech.mode == "native" else ["system", "user", "assistant", "user"])


async def test_a_failing_tool_is_told_to_the_model_and_spares_its_siblings(
    set_stage: SetStage, speech: Any
) -> None:
    calls = speech.calls(
        ("fail", {"reason": "api down"}),
        ("add", {"a": 1, "b": 2}),
        ("nothing", {}),
        ("add", {"a": "x", "b": 1}),
    )
    stage = set_stage([calls, speech.final("well"), "Well."], [add, fail])

    result = await stage.agent.run("Go")

    assert [step.error for step in result.steps] == [True, False, True, True]
    assert [step.observation for step in result.steps][:3] == [
        "Error: ConnectionError: api down",
        "3",
        "There is no tool `nothing`. The tools are: add, fail.",
    ]
    assert "a: Input should be a valid integer" in result.steps[3].observation


async def test_the_limit_ends_with_an_answer_from_the_steps(
    set_stage: SetStage, speech: Any
) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}))
    stage = set_stage([call, call, HttpError(status=500)], [add], max_iterations=2)

    result = await stage.agent.run("Go on for ever")

    assert result.stop_reason == "max_iterations"
    assert result.iterations == 2
    assert result.answer == (
        "The work is not finished. This is what was done and found:\n\n"
        "- `add` found: 3\n- `add` found: 3"
        "\n\n*Stopped at the limit of 2 iterations; this is what was found until then.*"
    )


def test_langgraphs_own_limit_is_out_of_reach() -> None:
    graph = build_graph(ScriptedChatModel(replies=[]))

    assert graph.config is not None
    assert graph.config["recursion_limit"] == 1_000_000


async def test_the_limit_is_synthesised_where_the_model_can(
    set_stage: SetStage, speech: Any
) -> None:
    call = speech.calls(("add", {"a": 1, "b": 2}))
    stage = set_stage([call, "Summary."], [add], max_iterations=1)

    result = await stage.agent.run("Go on for ever")

    assert result.answer.startswith("Summary.\n\n*Stopped at the limit of 1 iterations")


async def test_a_synthesis_that_fails_at_once_gives_the_loops_own_text(
    set_stage: SetStage, speech: Any
) -> None:
    replies = [speech.calls(("add", {"a": 1, "b": 2})), speech.final("It is 3."), Drop()]
    stage = set_stage(replies, [add])

    assert await stage.answer("1 + 2?") == "It is 3."


async def test_a_synthesis_that_breaks_off_is_taken_back_once(
    set_stage: SetStage, speech: Any
) -> None:
    broken = Drop(after=[{"content": "It is "}])
    replies = [speech.calls(("add", {"a": 1, "b": 2})), speech.final("3."), broken]
    stage = set_stage(replies, [add])

    events = await stage.ask("1 + 2?")

    answer = [
        (e["data"]["status"], e["data"].get("content")) for e in events if e["event"] == "answer"
    ]
    assert answer == [
        ("start", None),
        ("delta", "It is "),
        ("reset", None),
        ("delta", "3."),
        ("done", None),
    ]


async def test_an_empty_synthesis_counts_as_failed(set_stage: SetStage, speech: Any) -> None:
    replies = [speech.calls(("add", {"a": 1, "b": 2})), speech.final("It is 3."), " \n"]
    stage = set_stage(replies, [add])

    assert await stage.answer("1 + 2?") == "It is 3."


@pytest.mark.parametrize(
    ("synthesis", "calls", "streams"),
    [("never", 2, 0), ("auto", 3, 1), ("always", 3, 1)],
)
async def test_the_setting_decides_whether_a_second_call_is_made(
    set_stage: SetStage, speech: Any, synthesis: str, calls: int, streams: int
) -> None:
    replies = [speech.calls(("add", {"a": 1, "b": 2})), speech.final("3"), "It is 3."]
    stage = set_stage(replies, [add], synthesis=synthesis)

    await stage.ask("1 + 2?")

    assert len(stage.endpoint.requests) == calls
    assert sum(request.streamed for request in stage.endpoint.requests) == streams


async def test_the_synthesis_reads_question_trace_and_cut_results(
    set_stage: SetStage, speech: Any
) -> None:
    def read() -> str:
        """Read."""
        return "x" * 50

    replies = [speech.calls(("read", {})), speech.final("Draft."), "Answer."]
    stage = set_stage(replies, [read], synthesis_tool_result_chars=10)

    await stage.ask("What does it say?")

    assert stage.sent(-1)[-1] == (
        "user",
        "Question: What does it say?\n\nRecord of the work:\n"
        "read() -> xxxxxxxxxx… (40 more characters)\n\nDraft answer: Draft.",
    )


async def test_a_follow_up_knows_the_first_turn(set_stage: SetStage, speech: Any) -> None:
    stage = set_stage([speech.final("Paris"), speech.final("2 million")], [add])

    await stage.ask("Capital of France?")
    await stage.ask("How many people live there?")

    contents = [content for _, content in stage.sent(1)[1:]]
    assert contents == [
        "Capital of France?",
        speech.final("Paris"),
        "How many people live there?",
    ]


async def test_a_message_that_comes_with_the_last_reply_suppresses_it(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    stage = set_stage([Held(gate, speech.final("Too early")), speech.final("Both")], [add])

    run = asyncio.create_task(stage.ask("First"))
    await gate.reached()
    queued = await stage.agent.interrupt("thread", "and second")
    gate.open()
    events = await run

    assert events[-2]["data"]["answer"] == "Both"
    injected = [e["data"] for e in events if e["event"] == "inject"]
    assert injected == [{"type": "inject", "content": "and second", "ids": [queued.id]}]
    assert stage.sent(1)[-1] == ("user", "[USER INTERRUPT]\nand second")
    assert sum(e["event"] == "answer" and e["data"]["status"] == "start" for e in events) == 1


async def test_messages_during_a_call_are_joined_behind_its_result(
    set_stage: SetStage, speech: Any
) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        """Wait."""
        started.set()
        await go_on.wait()
        return "R"

    stage = set_stage([speech.calls(("slow", {})), speech.final("ok"), "Ok."], [slow])

    run = asyncio.create_task(stage.ask("Go"))
    await started.wait()
    for content in ("stop", "do X instead"):
        await stage.agent.interrupt("thread", content)
    go_on.set()
    await run

    added = "[USER INTERRUPT]\nstop\n\ndo X instead"
    native = [("tool", "R"), ("user", added)]
    json = [("user", f"Observation: R\n\n{added}")]
    assert stage.sent(1)[3:] == (native if speech.mode == "native" else json)


async def test_json_mode_drains_before_the_call_and_native_mode_after(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    call = speech.calls(("add", {"a": 1, "b": 2}))
    stage = set_stage([Held(gate, call), speech.final("ok"), "Ok."], [add])

    run = asyncio.create_task(stage.ask("Go"))
    await gate.reached()
    await stage.agent.interrupt("thread", "wait")
    gate.open()
    events = await run

    names = [
        e["data"].get("type") for e in events if e["data"].get("type") in {"inject", "iteration"}
    ]
    native = ["iteration", "iteration", "inject"]
    assert names == (native if speech.mode == "native" else ["inject", "iteration", "iteration"])
    stage.endpoint.check()


async def test_a_message_while_the_answer_streams_is_answered_in_the_same_run(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    stream = Deltas([{"content": "It is "}, gate, {"content": "3."}])
    replies = [
        speech.calls(("add", {"a": 1, "b": 2})),
        speech.final("3"),
        stream,
        speech.final("Now 4"),
        "It is 4.",
    ]
    stage = set_stage(replies, [add])

    run = asyncio.create_task(stage.ask("1 + 2?"))
    await gate.reached()
    await stage.agent.interrupt("thread", "and one more?")
    gate.open()
    events = await run

    assert events[-2]["data"]["answer"] == "It is 4."
    deltas = [e["data"]["content"] for e in events if e["data"].get("status") == "delta"]
    assert "".join(deltas) == "It is 3.It is 4."
    assert stage.sent(3)[-2:] == [
        ("assistant", speech.final("It is 3.")),
        ("user", "[USER INTERRUPT]\nand one more?"),
    ]


async def test_twenty_tools_are_narrowed_to_six_by_one_call(
    set_stage: SetStage, speech: Any
) -> None:
    names = [f"tool_{n}" for n in range(20)]
    tools = [_named(name) for name in names]
    chosen = ["tool_7", "tool_3", "unknown", *names[10:16]]
    pick = {"tool_calls": [{"id": "p", "name": "select_tools", "arguments": {"tools": chosen}}]}
    stage = set_stage([pick, speech.final("ok")], tools)

    events = await stage.ask("Seven?")

    assert events[0] == {"event": "phase", "data": {"phase": "selecting_tools", "total_tools": 20}}
    assert len(stage.endpoint.requests) == 2
    body = stage.endpoint.requests[1].body
    expected = ["tool_3", "tool_7", *names[10:14]]
    if speech.mode == "native":
        assert [tool["function"]["name"] for tool in body["tools"]] == expected
    else:
        offered = [line for line in body["messages"][0]["content"].splitlines() if "tool_" in line]
        assert [name for name in names if any(f"- {name}(" in line for line in offered)] == expected
    usage = events[-2]["data"]["usage"]
    assert usage["by_purpose"]["select_tools"]["calls"] == 1
    assert usage["calls"] == 2


async def test_a_selection_that_fails_offers_all_tools(set_stage: SetStage, speech: Any) -> None:
    tools = [_named(f"tool_{n}") for n in range(13)]
    garbage = ["no"] * 5
    stage = set_stage([*garbage, speech.final("ok")], tools)

    assert await stage.answer("Go") == "ok"

    text = stage.endpoint.requests[-1].raw.decode()
    assert all(f"tool_{n}" in text for n in range(13))


async def test_an_endpoint_that_refuses_the_key_ends_with_error_and_end(
    set_stage: SetStage, speech: Any
) -> None:
    stage = set_stage([HttpError(status=401, message="Incorrect API key.")])

    events = await stage.ask("Hi")

    assert told(events)[-3:] == [
        ("step", "thinking", "done"),
        ("error", None, None),
        ("end", None, None),
    ]
    assert events[-2]["data"]["code"] == "model_refused"
    assert "Incorrect API key." in events[-2]["data"]["message"]
    assert len(stage.endpoint.requests) == 1

    stage.endpoint.reply(speech.final("fine again"))
    assert await stage.answer("Hi?") == "fine again"


async def test_json_mode_asks_once_to_reformat_and_then_takes_the_text() -> None:
    model = ScriptedChatModel(tool_calling=False, replies=["so what", "just text"])

    async with ReActAgent(model, [add], database="memory:") as agent:
        events = [event async for event in agent.stream("Hi", thread_id="t")]

    model.check()
    reasons = [
        e["data"]["reasoning"]
        for e in events
        if e["data"].get("status") == "done" and e["event"] == "step"
    ]
    assert reasons == [UNREADABLE_REASONING, UNREADABLE_REASONING]
    assert (events[-2]["data"]["answer"], events[-2]["data"]["iterations"]) == ("just text", 2)
    assert "it holds no JSON object" in model.asked[1].messages[-1].text


async def test_a_thread_changes_its_mode_between_turns(set_stage: SetStage, speech: Any) -> None:
    stage = set_stage(
        [speech.calls(("add", {"a": 1, "b": 2})), speech.final("3"), "It is 3."], [add]
    )
    await stage.ask("1 + 2?")

    other = type(speech)("json" if speech.mode == "native" else "native")
    stage.endpoint.reply(other.final("Still 3."))
    options = RunOptions(use_native_tools=speech.mode == "json")
    result = await stage.agent.run("Sure?", thread_id="thread", options=options)

    assert result.answer == "Still 3."
    assert stage.endpoint.rejected == []


def test_sync_invoke_works_from_a_script() -> None:
    graph = build_graph(ScriptedChatModel(replies=["Hello!"]))

    assert graph.invoke({"messages": [("user", "Hi")]})["answer"] == "Hello!"


def test_sync_stream_works_from_a_script() -> None:
    graph = build_graph(ScriptedChatModel(replies=["Hello!"]))

    parts = list(graph.stream({"messages": [("user", "Hi")]}, stream_mode="custom"))

    assert [part["event"] for part in parts][-2:] == ["done", "end"]


def _named(name: str) -> Any:
    def tool(text: str) -> str:
        """Do something.

        Args:
            text: Anything.
        """
        return text

    tool.__name__ = name
    return tool
