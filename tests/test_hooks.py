"""Hooks allow, deny and change calls, ask a person, and change results; a failing one is safe."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.tool import tool_call
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from graph_agent import (
    ApprovalNeededError,
    ConfigError,
    ModelRegistry,
    ReActAgent,
    build_graph,
)
from graph_agent.hooks import Allow, Ask, Change, Deny, ToolOutcome, ToolUse, decision
from graph_agent.models.spec import ModelSpec
from graph_agent.testing import ScriptedChatModel, StrictEndpoint, check_events

pytestmark = pytest.mark.anyio

CONFIG = RunnableConfig(configurable={"thread_id": "t"})
QUESTION: Any = {"messages": [HumanMessage("Go", id="q")]}


class Mail:
    """A tool that must not run by mistake, and what it sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, to: str) -> str:
        """Send a mail.

        Args:
            to: Whom.
        """
        self.sent.append(to)
        if to == "nobody":
            raise ValueError("no such address")
        return f"sent to {to}"


@pytest.fixture
def stage(speech: Any) -> Callable[..., tuple[Any, Mail]]:
    """Make a graph with hooks that sends to some, and the mail that it sends."""

    def make(*to: str, saver: Any = None, mail: Mail | None = None, **hooks: Any) -> Any:
        wire = speech.calls(*(("send", {"to": name}) for name in to))
        calls = [
            tool_call(id=call["id"], name=call["name"], args=call["arguments"])
            for call in wire.get("tool_calls", [])
        ]
        mail = mail or Mail()
        reply = AIMessage(wire["content"], tool_calls=calls)
        model = ScriptedChatModel(replies=[reply, speech.final("Done.")])
        graph = build_graph(
            model,
            [mail.send],
            checkpointer=saver or InMemorySaver(),
            use_native_tools=speech.mode == "native",
            synthesis="never",
            **hooks,
        )
        return graph, mail

    return make


async def events(graph: Any, step: Any) -> list[Any]:
    return [part async for part in graph.astream(step, CONFIG, stream_mode="custom")]


async def results(graph: Any) -> list[tuple[str, str]]:
    """Status and text of each tool message."""
    messages = (await graph.aget_state(CONFIG)).values["messages"]
    return [(message.status, message.text) for message in messages if message.type == "tool"]


NOT_RUN = "The call was not run: {}. Go on without it."


@pytest.mark.parametrize(
    ("verdict", "sent", "result"),
    [
        pytest.param(None, ["Ann"], ("success", "sent to Ann"), id="nothing said"),
        pytest.param(Allow(), ["Ann"], ("success", "sent to Ann"), id="allowed"),
        pytest.param(True, ["Ann"], ("success", "sent to Ann"), id="true"),
        pytest.param(False, [], ("error", NOT_RUN.format("it is not allowed")), id="false"),
        pytest.param(
            "no!", [], ("error", NOT_RUN.format("the check before it failed")), id="not understood"
        ),
        pytest.param(Deny("no mail"), [], ("error", NOT_RUN.format("no mail")), id="denied"),
        pytest.param(
            Change({"to": "Bob"}),
            ["Bob"],
            ("success", 'sent to Bob\n\n(It was run with other arguments: {"to":"Bob"})'),
            id="changed",
        ),
        pytest.param(
            Change({"to": "Bob", "x": 2}),
            ["Bob"],
            (
                "success",
                "sent to Bob\n\n(`send` takes no `x`: left out.)\n"
                '(It was run with other arguments: {"to":"Bob","x":2})',
            ),
            id="changed to what has to be fitted",
        ),
    ],
)
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
async def test_a_hook_decides_about_a_call(
    stage: Any, verdict: Any, sent: list[str], result: tuple[str, str], *, sync: bool
) -> None:
    seen: list[ToolUse] = []

    def decide(use: ToolUse) -> Any:
        seen.append(use)
        return verdict

    async def decide_later(use: ToolUse) -> Any:
        return decide(use)

    graph, mail = stage("Ann", pre_tool_use=decide if sync else decide_later)

    told = await events(graph, QUESTION)

    check_events(told)
    assert (mail.sent, await results(graph)) == (sent, [result])
    assert [(use.tool_name, use.tool_args, use.iteration) for use in seen] == [
        ("send", {"to": "Ann"}, 1)
    ]


async def test_a_hook_that_fails_denies_that_call_alone(
    stage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(use: ToolUse) -> Any:
        if use.tool_args["to"] == "Ann":
            raise RuntimeError("secret detail")
        return None

    graph, mail = stage("Ann", "Bob", pre_tool_use=fails)

    check_events(await events(graph, QUESTION))

    assert mail.sent == ["Bob"]
    assert await results(graph) == [
        ("error", NOT_RUN.format("the check before it failed")),
        ("success", "sent to Bob"),
    ]
    assert "secret detail" in caplog.text


@pytest.mark.parametrize(
    ("decided", "sent", "result"),
    [
        pytest.param("allow", ["Ann"], "sent to Ann", id="allowed"),
        pytest.param("deny", [], NOT_RUN.format("a person denied it"), id="denied"),
        pytest.param(
            {"deny": "not him"},
            [],
            NOT_RUN.format("a person denied it: not him"),
            id="with a reason",
        ),
        pytest.param(
            {"args": {"to": "Eve"}},
            ["Eve"],
            'sent to Eve\n\n(It was run with other arguments: {"to":"Eve"})',
            id="changed",
        ),
        pytest.param(
            "perhaps",
            [],
            NOT_RUN.format(
                'the decision \'perhaps\' is none of "allow", "deny", '
                '{"deny": "why"}, {"args": {…}}'
            ),
            id="not understood",
        ),
    ],
)
async def test_a_person_decides_and_the_hook_is_not_asked_again(
    stage: Any, decided: Any, sent: list[str], result: str
) -> None:
    asked: list[str] = []

    def asks(use: ToolUse) -> Any:
        asked.append(use.call_id)
        return Ask()

    graph, mail = stage("Ann", pre_tool_use=asks)

    paused = await events(graph, QUESTION)
    before = list(mail.sent)
    told = await events(graph, Command(resume=decided))

    [approval] = [event["data"] for event in paused if event["event"] == "approval"]
    assert (approval["tool_name"], approval["tool_args"]) == ("send", {"to": "Ann"})
    assert before == []
    assert (mail.sent, await results(graph)) == (sent, [(_status(result), result)])
    assert len(asked) == 1
    assert "approval" not in [event["event"] for event in told]
    check_events([*paused, *told])


def _status(result: str) -> str:
    return "error" if result.startswith("The call") else "success"


async def test_each_of_several_calls_gets_its_own_decision(stage: Any) -> None:
    def asks(use: ToolUse) -> Any:
        return Allow() if use.tool_args["to"] == "Bob" else Ask()

    graph, mail = stage("Ann", "Bob", "Eve", "Joe", pre_tool_use=asks)

    paused = await events(graph, QUESTION)
    waiting = [event["data"] for event in paused if event["event"] == "approval"]
    ids = {data["tool_args"]["to"]: data["interrupt_id"] for data in waiting}
    decisions = {ids["Ann"]: "allow", ids["Eve"]: {"deny": "away"}}
    await events(graph, Command(resume=decisions))

    assert [*ids] == ["Ann", "Eve", "Joe"]
    assert sorted(mail.sent) == ["Ann", "Bob"]
    assert await results(graph) == [
        ("success", "sent to Ann"),
        ("success", "sent to Bob"),
        ("error", NOT_RUN.format("a person denied it: away")),
        ("error", NOT_RUN.format("a person denied it")),
    ]


async def test_a_pause_outlives_a_restart_and_is_answered_by_resume(
    speech: Any, tmp_path: Path
) -> None:
    wire = speech.calls(("send", {"to": "Ann"}), ("send", {"to": "Bob"}))
    mail, told = Mail(), []
    with StrictEndpoint([wire, speech.final("Both."), "Sent."]) as endpoint:

        def make() -> ReActAgent:
            models = ModelRegistry({"m": ModelSpec(model="m", base_url=endpoint.base_url)})
            return ReActAgent(
                "m",
                [mail.send],
                models=models,
                database=f"sqlite:///{tmp_path}/t.sqlite",
                use_native_tools=speech.mode == "native",
                pre_tool_use=lambda _: Ask(),
            )

        async with make() as agent:
            with pytest.raises(ApprovalNeededError, match="waits for a decision about") as paused:
                await agent.run("Mail them", thread_id="t")
        first, second = (call["interrupt_id"] for call in paused.value.approvals)
        async with make() as agent:
            with pytest.raises(ApprovalNeededError) as still:
                await agent.resume("t", decisions={first: "allow"})
            for wrong in ({first: "perhaps"}, {"x": "allow"}):
                with pytest.raises(ConfigError):
                    await agent.resume("t", decisions=wrong)
            decisions = {first: "allow", second: {"deny": "not him"}}
            told = [event async for event in agent.stream_resume("t", decisions=decisions)]
            with pytest.raises(ConfigError, match="waits for a decision"):
                await agent.resume("t", decisions="allow")

    assert [call["tool_args"]["to"] for call in still.value.approvals] == ["Bob"]
    assert mail.sent == ["Ann"]
    assert told[-2]["data"]["answer"] == "Sent."
    ended = [e["data"] for e in told if "observation" in e["data"]]
    assert sorted((data["tool_args"]["to"], data["error"]) for data in ended) == [
        ("Ann", False),
        ("Bob", True),
    ]
    assert endpoint.rejected == []


async def test_a_pause_is_not_resumed_without_the_hook_that_asked(speech: Any) -> None:
    wire = speech.calls(("send", {"to": "Ann"}))
    mail, saver, store = Mail(), InMemorySaver(), InMemoryStore()
    with StrictEndpoint([wire]) as endpoint:
        models = ModelRegistry({"m": ModelSpec(model="m", base_url=endpoint.base_url)})
        native = speech.mode == "native"
        kept: Any = {"models": models, "checkpointer": saver, "store": store}
        asking = ReActAgent(
            "m", [mail.send], use_native_tools=native, pre_tool_use=lambda _: Ask(), **kept
        )
        async with asking, ReActAgent("m", [mail.send], use_native_tools=native, **kept) as plain:
            with pytest.raises(ApprovalNeededError):
                await asking.run("Mail her", thread_id="t")
            for decisions in (None, "deny", "allow"):
                with pytest.raises(ConfigError, match="this agent has no `pre_tool_use`"):
                    await plain.resume("t", decisions=decisions)

    assert mail.sent == []


async def test_a_new_question_gives_a_waiting_call_up(speech: Any) -> None:
    wire = speech.calls(("send", {"to": "Ann"}))
    mail = Mail()
    with StrictEndpoint([wire, speech.final("Never mind.")]) as endpoint:
        models = ModelRegistry({"m": ModelSpec(model="m", base_url=endpoint.base_url)})
        native = speech.mode == "native"
        async with ReActAgent(
            "m",
            [mail.send],
            models=models,
            database="memory:",
            use_native_tools=native,
            synthesis="never",
            pre_tool_use=lambda _: Ask(),
        ) as agent:
            events = [event async for event in agent.stream("Mail her", thread_id="t")]
            result = await agent.run("No, do not", thread_id="t")

    check_events(events)
    assert [event["event"] for event in events][-2:] == ["approval", "end"]
    assert (result.answer, mail.sent, endpoint.rejected) == ("Never mind.", [], [])


async def test_a_result_may_be_changed_also_of_a_call_that_failed(stage: Any) -> None:
    seen: list[ToolOutcome] = []

    async def shouts(use: ToolUse, outcome: ToolOutcome) -> str | None:
        seen.append(outcome)
        return outcome.text.upper() if use.tool_args["to"] != "Bob" else None

    graph, _ = stage("Ann", "Bob", "nobody", post_tool_use=shouts)

    told = await events(graph, QUESTION)

    check_events(told)
    found = [("success", "SENT TO ANN"), ("success", "sent to Bob")]
    found.append(("error", "ERROR: VALUEERROR: NO SUCH ADDRESS"))
    assert await results(graph) == found
    assert sorted(outcome.error for outcome in seen) == [False, False, True]
    shown = [e["data"]["observation"] for e in told if e["data"].get("observation")]
    assert sorted(shown) == sorted(text for _, text in found)


async def test_a_result_is_withheld_where_its_hook_fails(
    stage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(use: ToolUse, outcome: ToolOutcome) -> str:
        raise RuntimeError("no")

    graph, _ = stage("Ann", post_tool_use=fails)

    told = await events(graph, QUESTION)

    withheld = "Error: the result of `send` is withheld, for the check of it failed."
    assert await results(graph) == [("error", withheld)]
    assert "sent to Ann" not in str(told)
    assert "post_tool_use failed" in caplog.text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, Allow()),
        ("allow", Allow()),
        (False, Deny("a person denied it")),
        ({"deny": "x"}, Deny("a person denied it: x")),
        ({"args": {"a": 1}}, Change({"a": 1})),
    ],
    ids=str,
)
def test_a_decision_is_read(value: Any, expected: Any) -> None:
    assert decision(value) == expected


async def test_a_tool_may_ask_by_itself(speech: Any) -> None:
    def pay() -> str:
        """Pay."""
        return f"paid {interrupt({'how much?': True})}"

    wire = speech.calls(("pay", {}))
    with StrictEndpoint([wire, speech.final("Paid.")]) as endpoint:
        models = ModelRegistry({"m": ModelSpec(model="m", base_url=endpoint.base_url)})
        native = speech.mode == "native"
        async with ReActAgent(
            "m",
            [pay],
            models=models,
            database="memory:",
            use_native_tools=native,
            synthesis="never",
        ) as agent:
            with pytest.raises(ApprovalNeededError, match="a decision about `a tool`"):
                await agent.run("Pay", thread_id="t")
            result = await agent.resume("t", decisions={"amount": 3})

    assert [step.observation for step in result.steps] == ["paid {'amount': 3}"]
