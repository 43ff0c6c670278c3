import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph

from graph_agent.errors import ConfigError, ModelError, ModelUnavailableError
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.models.retry import RetryPolicy
from graph_agent.models.spec import Abilities
from graph_agent.testing import Deltas, Gate, ScriptedChatModel, Silence

Connect = Callable[..., Any]
pytestmark = pytest.mark.anyio

HELLO = [HumanMessage("Hello?")]
ONCE = RetryPolicy(max_retries=0)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def negate(a: int) -> int:
    """Negate a number."""
    return -a


async def test_an_ask_offers_tools_and_forces_one(connect: Connect) -> None:
    chat, endpoint = connect(["a", "b", "c"])
    model = LanguageModel.of(chat)

    await model.ask(HELLO)
    await model.ask(HELLO, tools=[add, negate])
    await model.ask(HELLO, tools=[add, negate], tool_choice="add")

    offers = [
        ([tool["function"]["name"] for tool in r.body.get("tools", [])], r.body.get("tool_choice"))
        for r in endpoint.requests
    ]
    forced = {"type": "function", "function": {"name": "add"}}
    assert offers == [([], None), (["add", "negate"], None), (["add", "negate"], forced)]


class CountingChatModel(ScriptedChatModel):
    """Counts how often tools were bound."""

    bound: int = 0

    def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
        self.bound += 1
        return super().bind_tools(*args, **kwargs)


async def test_tools_are_bound_once_for_each_set() -> None:
    chat = CountingChatModel(replies=["a"] * 4)
    model = LanguageModel.of(chat)

    for tools in ([add], [add], [add, negate], [add]):
        await model.ask(HELLO, tools=tools)

    assert chat.bound == 2
    assert [asked.tools for asked in chat.asked] == [["add"], ["add"], ["add", "negate"], ["add"]]


def graph_of_one_call(model: LanguageModel) -> Any:
    async def think(state: MessagesState) -> dict[str, Any]:
        # Kept out of the state: LangGraph streams what a node adds to `messages`.
        return {"messages": [HumanMessage((await model.ask(state["messages"])).text[:5])]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_edge(START, "think")
    builder.add_edge("think", END)
    return builder.compile()


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_loop_call_streams_to_nobody(connect: Connect, version: str) -> None:
    chat, endpoint = connect([{"content": "inner words"}])
    graph = graph_of_one_call(LanguageModel.of(chat))

    parts = graph.astream({"messages": HELLO}, stream_mode="messages", version=version)
    heard = [part async for part in parts]

    assert "inner words" not in str(heard)
    assert [request.streamed for request in endpoint.requests] == [False]


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
async def test_nor_does_it_to_langchains_newer_listener(connect: Connect) -> None:
    chat, endpoint = connect(["inner words"])
    graph = graph_of_one_call(LanguageModel.of(chat))

    [event async for event in await graph.astream_events({"messages": HELLO}, version="v3")]

    assert [request.streamed for request in endpoint.requests] == [False]


async def test_nor_does_it_to_a_listener_of_events(connect: Connect) -> None:
    chat, endpoint = connect(["inner words"])

    async def think(_: str) -> str:
        return (await LanguageModel.of(chat).ask(HELLO)).text

    events = [event["event"] async for event in RunnableLambda(think).astream_events("x")]

    assert "on_chat_model_end" in events
    assert "on_chat_model_stream" not in events
    assert [request.streamed for request in endpoint.requests] == [False]


async def test_a_call_ends_at_its_time_out(connect: Connect) -> None:
    chat, endpoint = connect([Silence(after=None)])

    with pytest.raises(ModelUnavailableError, match="did not answer in time"):
        await LanguageModel.of(chat, timeout=0.1, retry=ONCE).ask(HELLO)

    assert await anyio.to_thread.run_sync(endpoint.requests[0].left.wait, 5)


async def test_a_stream_must_begin_within_the_time_out(connect: Connect) -> None:
    chat, _ = connect([Silence(after=None)])

    with pytest.raises(ModelUnavailableError, match="did not answer in time"):
        await _read(LanguageModel.of(chat, timeout=0.1, retry=ONCE))


class HangingChatModel(ScriptedChatModel):
    """A provider whose stream falls silent after one piece."""

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            await asyncio.get_running_loop().create_future()


async def test_any_providers_stream_ends_when_it_falls_silent() -> None:
    model = LanguageModel.of(HangingChatModel(replies=["one\ntwo"]), stream_idle_timeout=0.05)

    with pytest.raises(ModelUnavailableError, match="did not answer in time"):
        await _read(model)


async def test_who_stops_listening_hangs_up(connect: Connect) -> None:
    gate = Gate()
    chat, endpoint = connect([Deltas([{"content": "a"}, gate, {"content": "b"}])])

    stream: Any = LanguageModel.of(chat).stream(HELLO)
    async with aclosing(stream):
        assert (await anext(stream)).text == "a"
        await gate.reached()

    assert await anyio.to_thread.run_sync(endpoint.requests[0].left.wait, 5)


async def test_a_cancelled_ask_ends_at_once(connect: Connect) -> None:
    gate = Gate()
    chat, _ = connect([lambda _: gate.hold()])
    asking = asyncio.create_task(LanguageModel.of(chat).ask(HELLO))
    await gate.reached()

    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, timeout=1)
    gate.open()


async def test_a_fault_of_the_program_is_a_model_error_with_its_cause() -> None:
    model = LanguageModel.of(ScriptedChatModel(replies=[KeyError("x")]))

    with pytest.raises(ModelError, match=r"The model call failed: KeyError: 'x'\.") as caught:
        await model.ask(HELLO)

    assert isinstance(caught.value.__cause__, KeyError)


class SlowToStart(ScriptedChatModel):
    """Has something to start first, as an embedded server has."""

    started: int = 0
    fault: Any = None

    async def start(self) -> None:
        self.started += 1
        await asyncio.sleep(0.1)
        if self.fault:
            raise self.fault


async def test_what_must_start_first_is_not_timed() -> None:
    chat = SlowToStart(replies=["one", "two"])
    model = LanguageModel.of(chat, timeout=0.05, retry=ONCE)

    assert (await model.ask(HELLO)).text == "one"
    assert await _read(model) == "two"
    assert chat.started == 2


async def test_a_start_that_fails_says_why() -> None:
    fault = ConfigError("There are no weights.")

    with pytest.raises(ConfigError, match="no weights"):
        await LanguageModel.of(SlowToStart(replies=[], fault=fault)).ask(HELLO)


def compatible(**settings: Any) -> CompatibleChatModel:
    given = {"model": "m", "base_url": "http://127.0.0.1/v1", "api_key": "sk-secret"}
    return CompatibleChatModel(**(given | settings))


PROFILE = {"max_input_tokens": 9, "max_output_tokens": 5, "tool_calling": True}


@pytest.mark.parametrize(
    ("chat", "known", "expected"),
    [
        pytest.param(
            compatible(),
            {},
            ("m", Abilities(json_mode=False), 128_000, 64_000, False),
            id="nothing known",
        ),
        pytest.param(
            compatible(profile=PROFILE),
            {},
            ("m", Abilities(json_mode=False), 9, 5, False),
            id="by its profile",
        ),
        pytest.param(
            compatible(model="qwen2.5-1.5b", profile=PROFILE),
            {"name": "small", "context_size": 8, "small": True},
            ("small", Abilities(json_mode=False), 8, 5, True),
            id="what is said wins",
        ),
        pytest.param(
            compatible(model="qwen2.5-1.5b"),
            {},
            ("qwen2.5-1.5b", Abilities(json_mode=False), 128_000, 64_000, True),
            id="small by its name",
        ),
        pytest.param(
            ScriptedChatModel(replies=[], tool_calling=False),
            {},
            (
                "ScriptedChatModel",
                Abilities(tool_call=False, json_mode=False),
                128_000,
                64_000,
                False,
            ),
            id="a model without a name",
        ),
    ],
)
def test_what_is_known_of_a_model(
    chat: BaseChatModel, known: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    model = LanguageModel.of(chat, **known)

    facts = model.name, model.abilities, model.context_size, model.max_output_tokens, model.small
    assert facts == expected


def test_the_key_is_in_no_text() -> None:
    model = LanguageModel.of(compatible())

    assert "sk-secret" not in f"{model!r} {model}"


async def _read(model: LanguageModel) -> str:
    return "".join([piece.text async for piece in model.stream(HELLO)])
