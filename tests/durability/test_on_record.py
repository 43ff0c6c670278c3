"""No tool runs before the reply that asks for it is saved, and no model before the question is."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from graph_agent import ModelRegistry, ReActAgent, build_graph
from graph_agent.backends.saved_steps import KnownSteps
from graph_agent.models.spec import ModelSpec
from graph_agent.testing import Gate, StrictEndpoint

pytestmark = pytest.mark.anyio


class SlowSaver(InMemorySaver):
    """A database that is behind: it holds the step that leads to a node, or cannot save one."""

    def __init__(self, gate: Gate, *, held: str = "act", full: str = "") -> None:
        super().__init__()
        self._gate, self._held, self._full = gate, held, full

    async def aput(self, config: RunnableConfig, checkpoint: Any, *args: Any) -> RunnableConfig:
        if f"branch:to:{self._held}" in checkpoint["channel_values"]:
            await self._gate.hold()
        if self._full and f"branch:to:{self._full}" in checkpoint["channel_values"]:
            raise OSError("the disk is full")
        return await super().aput(config, checkpoint, *args)

    async def aput_writes(
        self, config: RunnableConfig, writes: Any, *args: Any, **named: Any
    ) -> None:
        if self._full == "the reply" and any(channel == "iteration" for channel, _ in writes):
            raise OSError("the disk is full")
        await super().aput_writes(config, writes, *args, **named)


class Saver(KnownSteps, SlowSaver):
    """The same, and it tells what it has saved."""


class Shop:
    """A tool, and what was done in which order."""

    def __init__(self) -> None:
        self.order: list[str] = []

    async def pay(self, amount: int) -> str:
        """Pay.

        Args:
            amount: Euros.
        """
        self.order.append("paid")
        return f"paid {amount}"


AgentOf = Callable[..., ReActAgent]


@pytest.fixture
def endpoint(speech: Any) -> Iterator[StrictEndpoint]:
    """Pay, then answer, twice."""
    turn = [speech.calls(("pay", {"amount": 5})), speech.final("Paid."), "Paid."]
    with StrictEndpoint([*turn, *turn]) as endpoint:
        yield endpoint


@pytest.fixture
def agent_of(speech: Any, endpoint: StrictEndpoint) -> AgentOf:
    """Make an agent whose model pays, then answers."""
    models = ModelRegistry({"m": ModelSpec(model="m", base_url=endpoint.base_url)})

    def agent(shop: Shop, saver: Saver) -> ReActAgent:
        native = speech.mode == "native"
        return ReActAgent(
            "m", [shop.pay], models=models, checkpointer=saver, use_native_tools=native
        )

    return agent


async def test_a_model_is_asked_once_the_question_is_saved(
    agent_of: AgentOf, endpoint: StrictEndpoint
) -> None:
    gate = Gate()
    async with agent_of(Shop(), Saver(gate, held="select_tools")) as agent:
        run = asyncio.create_task(agent.run("Pay 5."))
        await gate.reached()
        for _ in range(100):  # Whoever can go on without it does so now.
            await asyncio.sleep(0)
        asked = len(endpoint.requests)
        gate.open()
        assert (await run).answer == "Paid."
    assert (asked, len(endpoint.requests)) == (0, 3)


async def test_a_call_runs_once_what_asks_for_it_is_saved(agent_of: AgentOf) -> None:
    shop, gate = Shop(), Gate()
    async with agent_of(shop, Saver(gate)) as agent:
        run = asyncio.create_task(agent.run("Pay 5."))
        await gate.reached()
        for _ in range(100):  # Whoever can go on without it does so now.
            await asyncio.sleep(0)
        shop.order.append("saving")
        gate.open()
        assert (await run).answer == "Paid."
    assert shop.order == ["saving", "paid"]


@pytest.mark.parametrize("full", ["select_tools", "think", "act", "the reply"])
async def test_a_call_does_not_run_where_what_asks_for_it_cannot_be_saved(
    agent_of: AgentOf, full: str
) -> None:
    """Where an earlier step cannot be saved, LangGraph hands over none of the later ones."""
    shop, gate = Shop(), Gate()
    gate.open()
    async with agent_of(shop, Saver(gate, full=full)) as agent, asyncio.timeout(10):
        events = [event["event"] async for event in agent.stream("Pay 5.")]
    assert (events[-2:], shop.order) == (["error", "end"], [])


async def test_a_run_that_is_saved_at_its_end_waits_for_nothing(
    speech: Any, endpoint: StrictEndpoint
) -> None:
    """Neither on a thread that was never saved, nor on one that was."""
    shop, place = Shop(), RunnableConfig(configurable={"thread_id": "t"})
    models = ModelRegistry({"m": ModelSpec(model="m", base_url=endpoint.base_url)})
    native = speech.mode == "native"
    saver = Saver(Gate(), held="")
    graph = build_graph("m", [shop.pay], models=models, checkpointer=saver, use_native_tools=native)
    for _ in range(2):
        async with asyncio.timeout(10):
            asked: Any = {"messages": [HumanMessage("Pay 5.")]}
            ended = await graph.ainvoke(asked, place, durability="exit")
        assert ended["answer"] == "Paid."
    assert shop.order == ["paid", "paid"]


async def test_one_who_reads_a_thread_that_cannot_be_saved_hides_it_from_nobody(
    agent_of: AgentOf,
) -> None:
    gate = Gate()
    saver = Saver(gate, full="act")
    gate.open()
    async with agent_of(Shop(), saver) as agent, asyncio.timeout(10):
        with pytest.raises(OSError, match="full"):
            await agent.run("Pay 5.", thread_id="t")
        await agent.snapshot("t")
        with pytest.raises(OSError, match="full"):
            await saver.steps.wait("t", "", "~")  # As the next tool of the same run does.
