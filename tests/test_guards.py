"""The reminder of the goal and the check of the answer, as they are decided and in whole runs."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import orjson
import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import SearchItem
from langgraph.store.memory import InMemoryStore

from graph_agent import build_graph
from graph_agent.events import WireEvent
from graph_agent.guards import completion_check, reminder
from graph_agent.prompts import COMPLETION_CHECK, GOAL_ADDED, REMINDER
from graph_agent.state import AgentState, Turn, is_question, marked, said_by_user
from graph_agent.testing import Drop, Gate, Held, HttpError, ScriptedChatModel, Silence

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
QUESTION = HumanMessage("q", id="q")
LONG = "The first is one, and the second is two."
REMIND = REMINDER.format(question="q", added="")
CHECK = COMPLETION_CHECK.format(question="q", added="")


def look(n: int) -> str:
    """Look a fact up.

    Args:
        n: Which.
    """
    return f"fact {n}"


def calling(n: int, name: str = "look") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {"n": n}, "id": f"c{n}"}])


def found(n: int) -> ToolMessage:
    return ToolMessage(f"fact {n}", tool_call_id=f"c{n}")


def kind(name: str, content: str = "…") -> HumanMessage:
    return HumanMessage(content, additional_kwargs={"kind": name})


def work(*numbers: int) -> list[AnyMessage]:
    """Rounds of one call each."""
    return [message for n in numbers for message in (calling(n), found(n))]


def after(*messages: AnyMessage, iteration: int = 9, **fields: Any) -> AgentState:
    """A thread with an older turn, whose messages do not count."""
    old: list[AnyMessage] = [HumanMessage("old"), *work(91, 92, 93), kind("check"), AIMessage("a")]
    turn = Turn(run_id="r", start=len(old), started_at=0.0)
    return AgentState(
        messages=[*old, QUESTION, *messages],
        turn=turn,
        iteration=iteration,
        iteration_limit=fields.pop("iteration_limit", 50),
        **fields,
    )


def due(name: str, state: AgentState) -> HumanMessage | None:
    """What follows at the first occasion."""
    if name == "reminder":
        return reminder(state, [], interval=1)
    return completion_check(state, minimum=1)


@pytest.mark.parametrize(
    ("state", "interval", "due"),
    [
        pytest.param(after(*work(1)), 2, False, id="one short"),
        pytest.param(after(*work(1, 2)), 2, True, id="the first"),
        pytest.param(after(*work(1, 2, 3)), 2, False, id="between"),
        pytest.param(after(*work(1, 2), kind("reminder"), *work(3, 4)), 2, True, id="the second"),
        pytest.param(after(*work(1)), 1, True, id="each time"),
        pytest.param(after(*work(1, 2)), 0, False, id="off"),
        pytest.param(after(*work(1, 2), iteration_limit=9), 2, False, id="nothing more is asked"),
        pytest.param(
            after(AIMessage("so"), kind("reformat"), *work(1)), 2, False, id="only calls count"
        ),
    ],
)
def test_when_a_reminder_is_due(state: AgentState, interval: int, *, due: bool) -> None:
    assert (reminder(state, [], interval=interval) is not None) == due


@pytest.mark.parametrize(
    ("state", "minimum", "due"),
    [
        pytest.param(after(*work(1, 2), AIMessage("a")), 2, True, id="enough"),
        pytest.param(after(*work(1), AIMessage("a")), 2, False, id="too few"),
        pytest.param(after(AIMessage("a")), 1, False, id="no tools"),
        pytest.param(after(*work(1, 2), AIMessage("a")), 0, False, id="off"),
        pytest.param(after(*work(1, 2)), 2, False, id="no answer"),
        pytest.param(after(*work(1, 2), AIMessage(" \n")), 2, False, id="an empty answer"),
        pytest.param(
            after(*work(1, 2), AIMessage("a"), kind("interrupt")), 2, False, id="suppressed"
        ),
        pytest.param(
            after(*work(1, 2), AIMessage("a"), kind("check"), AIMessage("b")), 2, False, id="made"
        ),
        pytest.param(
            after(*work(1, 2), AIMessage("a"), kind("interrupt"), AIMessage("b")),
            2,
            True,
            id="the follow-up's",
        ),
        pytest.param(
            after(*work(1, 2), AIMessage("a"), iteration_limit=9), 2, False, id="at the limit"
        ),
        pytest.param(
            after(*work(1, 2), AIMessage("a"), stop_reason="token_limit"), 2, False, id="stopped"
        ),
    ],
)
def test_when_a_check_is_due(state: AgentState, minimum: int, *, due: bool) -> None:
    assert (completion_check(state, minimum=minimum) is not None) == due


@pytest.mark.parametrize("name", ["reminder", "check"])
def test_both_are_ours_and_name_the_question_in_short(name: str) -> None:
    text = {"reminder": REMINDER, "check": COMPLETION_CHECK}[name]
    first: list[AnyMessage] = [HumanMessage("What {is}\n  it?"), HumanMessage("한" * 400)]
    turn = Turn(run_id="r", start=0, started_at=0.0)
    state = AgentState(
        messages=[*first, *work(1), AIMessage("a", id="7")], turn=turn, iteration_limit=9
    )

    made = due(name, state)

    short = f"What {{is}} it? {'한' * 286}…"
    assert made == HumanMessage(
        text.format(question=short, added=""), id=f"7-{name}", additional_kwargs={"kind": name}
    )
    assert (marked(made), is_question(made), said_by_user(made)) == (name, False, False)


@pytest.mark.parametrize("name", ["reminder", "check"])
def test_both_say_that_the_user_added_something(name: str) -> None:
    text = {"reminder": REMINDER, "check": COMPLETION_CHECK}[name]

    made = due(name, after(*work(1), kind("interrupt"), AIMessage("a")))

    assert made is not None
    assert made.text == text.format(question="q", added=GOAL_ADDED)


def asking() -> Any:
    return {"messages": [HumanMessage("q")]}


def rounds(speech: Any, *numbers: int) -> list[Any]:
    return [speech.calls(("look", {"n": n})) for n in numbers]


def times(text: str, stage: Any, number: int) -> int:
    """How often a text stands in a request."""
    return sum((content or "").count(text) for _, content in stage.sent(number))


def told(events: Sequence[WireEvent]) -> list[str]:
    """What a user sees, in short; the answer's pieces are left out."""
    kinds = ((e["event"], e["data"].get("type"), e["data"].get("status")) for e in events)
    return [" ".join(filter(None, kind)) for kind in kinds if kind[-1] != "delta"]


def answer_of(events: Sequence[WireEvent]) -> dict[str, Any]:
    assert events[-2]["event"] == "done", events[-2]
    return events[-2]["data"]


async def test_the_goal_is_brought_to_mind_again_and_again(
    set_stage: SetStage, speech: Any
) -> None:
    replies = [*rounds(speech, 1, 2, 3, 4, 5), speech.final("done")]
    stage = set_stage(replies, [look], self_reflection_interval=2, synthesis="never")

    await stage.ask("q")

    assert [times(REMIND, stage, n) for n in range(6)] == [0, 0, 1, 1, 2, 2]
    native = [("tool", "fact 4"), ("user", REMIND)]
    json = [("user", f"Observation: fact 4\n\n{REMIND}")]
    expected = native if speech.mode == "native" else json
    assert stage.sent(4)[-len(expected) :] == expected
    assert stage.sent(3)[-1][1].endswith("fact 3")


async def test_an_answer_is_checked_once_and_then_given(set_stage: SetStage, speech: Any) -> None:
    replies = [
        *rounds(speech, 1, 2, 3),
        speech.final("First."),
        speech.final("Second."),
        "Whole.",
    ]
    stage = set_stage(replies, [look], completion_check_min_tools=3)

    events = await stage.ask("q")

    assert stage.sent(4)[-2:] == [("assistant", speech.final("First.")), ("user", CHECK)]
    thinking, call = ("step thinking start", "step thinking done"), ("step iteration start",)
    assert told(events) == [
        *(*thinking, *call, "step iteration done") * 3,
        *thinking * 2,
        "step answer start",
        "answer start",
        "answer done",
        "done",
        "end",
    ]
    done = answer_of(events)
    assert (done["answer"], done["iterations"], done["stop_reason"]) == ("Whole.", 5, "final")
    calls = {name: used["calls"] for name, used in done["usage"]["by_purpose"].items()}
    assert calls == {"loop": 5, "synthesize": 1}
    assert stage.endpoint.rejected == []


async def test_both_guards_only_add_to_what_was_sent(set_stage: SetStage, speech: Any) -> None:
    replies = [*rounds(speech, 1, 2, 3, 4), speech.final("First."), speech.final("Second.")]
    on = {"self_reflection_interval": 2, "completion_check_min_tools": 3}
    stage = set_stage(replies, [look], synthesis="never", **on)

    assert await stage.answer("q") == "Second."

    sent = [orjson.dumps(r.body["messages"])[:-1] for r in stage.endpoint.requests]
    assert all(orjson.dumps(CHECK)[1:-1] not in raw for raw in sent[:-1])
    assert orjson.dumps(CHECK)[1:-1] in sent[-1]
    assert [later.startswith(earlier) for earlier, later in pairwise(sent)] == [True] * 5


async def test_an_endpoint_whose_roles_must_alternate_takes_both(
    set_stage: SetStage, speech: Any
) -> None:
    replies = [*rounds(speech, 1, 2, 3), speech.final("First."), speech.final("Second.")]
    on = {"self_reflection_interval": 2, "completion_check_min_tools": 3}
    stage = set_stage(replies, [look], profile="mistral", synthesis="never", **on)

    assert await stage.answer("q") == "Second."

    assert (times(REMIND, stage, -1), times(CHECK, stage, -1)) == (1, 1)


async def test_zero_turns_both_off(set_stage: SetStage, speech: Any) -> None:
    replies = [*rounds(speech, *range(1, 8)), speech.final("done"), "Done."]
    off = {"self_reflection_interval": 0, "completion_check_min_tools": 0}
    stage = set_stage(replies, [look], **off)

    result = await stage.agent.run("q")

    assert (result.answer, result.iterations) == ("Done.", 8)
    assert {marked(m) for m in result.messages if isinstance(m, HumanMessage)} == {None}


async def test_both_are_on_unless_they_are_set() -> None:
    calls = [calling(n) for n in range(6)]
    model = ScriptedChatModel(replies=[*calls, "First.", "Second.", "Answer."])

    state = await build_graph(model, [look]).ainvoke(asking())

    model.check()
    kinds = [(n, marked(m)) for n, m in enumerate(state["messages"]) if marked(m)]
    assert kinds == [(13, "reminder"), (15, "check"), (16, "answer")]


async def test_what_is_missing_is_found_out_after_the_check(
    set_stage: SetStage, speech: Any
) -> None:
    replies = [
        *rounds(speech, 1),
        speech.final("One is known."),
        *rounds(speech, 2, 3),
        speech.final("All are known."),
        "All.",
    ]
    stage = set_stage(replies, [look], completion_check_min_tools=1)

    result = await stage.agent.run("q", thread_id="thread")

    assert (result.answer, result.iterations, result.stop_reason) == ("All.", 5, "final")
    assert [step.observation for step in result.steps] == ["fact 1", "fact 2", "fact 3"]
    assert [marked(m) for m in result.messages].count("check") == 1


@pytest.mark.parametrize("reply", ["Yes.", "", "half", "more"])
async def test_a_mere_confirmation_does_not_take_the_place_of_the_answer(
    set_stage: SetStage, speech: Any, reply: str
) -> None:
    checked = {"half": LONG[: len(LONG) // 2], "more": f"{LONG} So it is."}.get(reply, reply)
    said_nothing = [speech.final("")] if not reply else []
    replies = [*rounds(speech, 1), speech.final(LONG), speech.final(checked), *said_nothing]
    stage = set_stage(replies, [look], completion_check_min_tools=1, synthesis="never")

    result = await stage.agent.run("q")

    assert result.answer == (checked if reply in ("half", "more") else LONG)
    assert result.stop_reason == "final"


async def test_the_answer_stands_where_the_synthesis_fails(
    set_stage: SetStage, speech: Any
) -> None:
    replies = [*rounds(speech, 1), speech.final(LONG), speech.final("Yes."), Drop()]
    stage = set_stage(replies, [look], completion_check_min_tools=1)

    assert await stage.answer("q") == LONG


async def test_the_record_of_the_work_holds_neither(set_stage: SetStage, speech: Any) -> None:
    replies = [*rounds(speech, 1, 2), speech.final(LONG), speech.final(LONG[3:]), "Answer."]
    on = {"self_reflection_interval": 1, "completion_check_min_tools": 1}
    stage = set_stage(replies, [look], **on)

    await stage.ask("q")

    assert stage.sent(-1)[-1] == (
        "user",
        "Question: q\n\nRecord of the work:\nlook(n=1) -> fact 1\nlook(n=2) -> fact 2\n"
        f"{LONG}\n\nDraft answer: {LONG[3:]}",
    )


async def test_the_synthesis_drafts_from_the_answer_that_was_only_confirmed(
    set_stage: SetStage, speech: Any
) -> None:
    replies = [*rounds(speech, 1), speech.final(LONG), speech.final("Yes."), "Answer."]
    stage = set_stage(replies, [look], completion_check_min_tools=1)

    assert await stage.answer("q") == "Answer."

    assert stage.sent(-1)[-1] == (
        "user",
        f"Question: q\n\nRecord of the work:\nlook(n=1) -> fact 1\nYes.\n\nDraft answer: {LONG}",
    )


async def test_a_limit_after_the_check_gives_the_answer_that_was_checked(
    set_stage: SetStage, speech: Any
) -> None:
    replies = [*rounds(speech, 1), speech.final(LONG), *rounds(speech, 2)]
    stage = set_stage(
        replies, [look], completion_check_min_tools=1, max_iterations=3, synthesis="never"
    )

    result = await stage.agent.run("q")

    assert result.stop_reason == "max_iterations"
    assert result.answer.startswith(f"{LONG}\n\n*Stopped at the limit of 3 iterations")


async def test_no_check_is_made_on_the_last_iteration(set_stage: SetStage, speech: Any) -> None:
    replies = [*rounds(speech, 1), speech.final(LONG)]
    stage = set_stage(
        replies, [look], completion_check_min_tools=1, max_iterations=2, synthesis="never"
    )

    result = await stage.agent.run("q")

    assert (result.answer, result.stop_reason, result.iterations) == (LONG, "final", 2)


@pytest.mark.parametrize(
    "failing",
    [HttpError(status=401), HttpError(status=500), Drop(), Silence(after=None)],
    ids=["refused", "failed", "dropped", "out of time"],
)
async def test_a_check_that_cannot_be_made_does_not_take_the_answer_away(
    set_stage: SetStage, speech: Any, failing: Any
) -> None:
    replies = [*rounds(speech, 1), speech.final(LONG), failing]
    on = {"completion_check_min_tools": 1, "run_timeout": 2}
    stage = set_stage(replies, [look], synthesis="never", **on)

    done = answer_of(await stage.ask("q"))

    assert (done["answer"], done["stop_reason"], stage.endpoint.asked) == (LONG, "final", 3)
    stage.endpoint.reply(speech.final("Next."))
    assert await stage.answer("And?") == "Next."


async def test_a_message_during_a_check_that_fails_is_answered(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    failing = Held(gate, HttpError(status=500))
    replies = [*rounds(speech, 1), speech.final(LONG), failing, speech.final("More.")]
    stage = set_stage(replies, [look], completion_check_min_tools=1, synthesis="never")

    run = asyncio.create_task(stage.ask("q"))
    await gate.reached()
    await stage.agent.interrupt("thread", "and more")
    gate.open()
    done = answer_of(await run)

    assert (done["answer"], done["stop_reason"], done["iterations"]) == ("More.", "final", 4)


async def test_a_limit_that_forbids_the_check_does_not_taint_the_answer(
    set_stage: SetStage, speech: Any
) -> None:
    replies = [*rounds(speech, 1), speech.final(LONG)]
    unlimited = set_stage(replies, [look], synthesis="never")
    used = answer_of(await unlimited.ask("q"))["usage"]
    stage = set_stage(
        replies,
        [look],
        completion_check_min_tools=1,
        max_total_tokens=used["input_tokens"] + used["output_tokens"],
        synthesis="never",
    )

    done = answer_of(await stage.ask("q"))

    assert (done["answer"], done["stop_reason"]) == (LONG, "final")
    assert len(stage.endpoint.requests) == 2


async def test_a_message_comes_before_the_check_and_its_answer_is_checked(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    replies = [
        *rounds(speech, 1),
        Held(gate, speech.final("Early.")),
        speech.final("Both."),
        speech.final("Both, for sure."),
    ]
    stage = set_stage(replies, [look], completion_check_min_tools=1, synthesis="never")

    run = asyncio.create_task(stage.ask("q"))
    await gate.reached()
    await stage.agent.interrupt("thread", "and more")
    gate.open()
    events = await run

    assert answer_of(events)["answer"] == "Both, for sure."
    added = COMPLETION_CHECK.format(question="q", added=GOAL_ADDED)
    assert stage.sent(2)[-1] == ("user", "[USER INTERRUPT]\nand more")
    assert stage.sent(3)[-2:] == [("assistant", speech.final("Both.")), ("user", added)]


async def test_a_message_during_the_check_is_answered_and_not_checked_again(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    replies = [
        *rounds(speech, 1),
        speech.final(LONG),
        Held(gate, speech.final("Yes.")),
        speech.final("More."),
    ]
    stage = set_stage(replies, [look], completion_check_min_tools=1, synthesis="never")

    run = asyncio.create_task(stage.ask("q"))
    await gate.reached()
    await stage.agent.interrupt("thread", "and more")
    gate.open()
    events = await run

    assert answer_of(events)["answer"] == "More."
    assert stage.sent(3)[-1] == ("user", "[USER INTERRUPT]\nand more")
    assert times(CHECK, stage, 3) == 1


@pytest.mark.parametrize("again", [1, 2], ids=["before the reminder's", "after it"])
async def test_a_run_that_broke_off_reminds_once(
    set_stage: SetStage, speech: Any, again: int
) -> None:
    broken = [*rounds(speech, *range(1, again + 1)), HttpError(status=401)]
    stage = set_stage(broken, [look], self_reflection_interval=2, synthesis="never")
    assert (await stage.ask("q"))[-2]["event"] == "error"

    stage.endpoint.reply(*rounds(speech, *range(again + 1, 4)), speech.final("done"))
    result = await stage.agent.resume("thread")

    kinds = [marked(m) for m in result.messages[1:] if isinstance(m, HumanMessage)]
    assert (result.answer, kinds) == ("done", [None, "reminder"])
    assert [times(REMIND, stage, n) for n in (-2, -1)] == [1, 1]


async def test_a_run_that_was_cancelled_during_its_check_checks_once(
    set_stage: SetStage, speech: Any
) -> None:
    gate = Gate()
    replies = [*rounds(speech, 1), speech.final("First."), Held(gate, speech.final("Lost."))]
    stage = set_stage(replies, [look], completion_check_min_tools=1, synthesis="never")
    run = asyncio.create_task(stage.ask("q"))
    await gate.reached()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    gate.open()

    stage.endpoint.reply(speech.final("Second."))
    result = await stage.agent.resume("thread")

    assert (result.answer, result.stop_reason) == ("Second.", "final")
    assert stage.sent(3) == stage.sent(2)
    assert times(CHECK, stage, 3) == 1


class BrokenStore(InMemoryStore):
    """Fails while it is broken."""

    broken = False

    async def asearch(self, *args: Any, **kwargs: Any) -> list[SearchItem]:
        if self.broken:
            raise ConnectionError("The store is down.")
        return await super().asearch(*args, **kwargs)


async def test_results_are_kept_where_the_queue_cannot_be_read() -> None:
    runs: list[int] = []

    def pay(number: int) -> str:
        """Pay."""
        runs.append(number)
        store.broken = True
        return "paid"

    call = AIMessage("", tool_calls=[tool_call(name="pay", args={"number": 1}, id="c1")])
    store = BrokenStore()
    graph = build_graph(
        ScriptedChatModel(replies=[call, "Paid."]),
        [pay],
        checkpointer=InMemorySaver(),
        store=store,
        synthesis="never",
    )
    thread: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ConnectionError):
        await graph.ainvoke(asking(), thread)

    store.broken = False
    state = await graph.ainvoke(None, thread)

    assert (state["answer"], runs) == ("Paid.", [1])


async def test_a_run_that_broke_off_before_its_check_checks_once() -> None:
    def first(messages: list[BaseMessage]) -> str:
        store.broken = True
        return "First."

    model = ScriptedChatModel(replies=[calling(1), first, "Second."])
    store, saver = BrokenStore(), InMemorySaver()
    graph = build_graph(
        model,
        [look],
        checkpointer=saver,
        store=store,
        completion_check_min_tools=1,
        synthesis="never",
    )
    thread: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ConnectionError):
        await graph.ainvoke(asking(), thread)

    store.broken = False
    state = await graph.ainvoke(None, thread)

    model.check()
    assert state["answer"] == "Second."
    assert [m.text for m in model.asked[2].messages[1:]] == ["q", "", "fact 1", "First.", CHECK]
