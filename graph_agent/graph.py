"""START HERE: the agent as a graph; its nodes, its edges, and what decides between them.

START ─► select_tools ─► guard_context ─► think ─► act ─► drain_interrupts ─► synthesize ─► END
                              ▲ ▲                              │                  │
                              │ └── more to do, or a message ◄─┘                  │
                              └──── a message came while the answer streamed ◄────┘

A node that would have nothing to do is passed by: `drain_interrupts` runs only if a message waits
or the answer is to be checked, and `guard_context` only if the prompt does not fit.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from graph_agent import nodes
from graph_agent.backends.saved_steps import KnownSteps
from graph_agent.deps import Deps
from graph_agent.hooks import Hooks, PostToolUse, PreToolUse
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.registry import ModelRegistry
from graph_agent.nodes.drain_interrupts import check_due, message_waits
from graph_agent.nodes.fallback import with_fallbacks
from graph_agent.nodes.guard_context import prompt_fits
from graph_agent.nodes.keeping_draft import keeping_draft
from graph_agent.nodes.limited import within_limits
from graph_agent.nodes.reporting import bound
from graph_agent.nodes.routing import Routed
from graph_agent.nodes.smaller_prompt import with_smaller_prompts
from graph_agent.settings import RunOptions, Settings
from graph_agent.state import (
    AgentInput,
    AgentState,
    is_at_limit,
    is_over,
    marked,
    open_calls,
)
from graph_agent.structured.shape import Schema, checked_form
from graph_agent.sync_graph import AgentGraph, with_sync_methods
from graph_agent.tools.registry import Tool, ToolRegistry

RECURSION_LIMIT = 1_000_000
"""Steps; far above what any run takes, so that `max_iterations` decides, and never LangGraph."""

NODES = (
    nodes.select_tools,
    keeping_draft(within_limits(nodes.guard_context)),
    keeping_draft(within_limits(with_fallbacks(with_smaller_prompts(nodes.think)))),
    nodes.act,
    nodes.drain_interrupts,
    nodes.synthesize,
)


def wire(deps: Deps) -> StateGraph[AgentState, RunOptions, AgentInput, AgentState]:
    """Join the nodes, with their dependencies bound."""
    builder = StateGraph(AgentState, RunOptions, input_schema=AgentInput)
    for node in NODES:
        builder.add_node(node.__name__, bound(node, deps))
    builder.add_edge(START, "select_tools")
    builder.add_edge("guard_context", "think")
    routes = {"select_tools": to_next_call, "think": after_think, "act": after_act}
    for source, route in routes.items():
        routed = Routed(route, deps)
        builder.add_conditional_edges(source, routed, routed.ends)
    builder.add_conditional_edges("drain_interrupts", after_drain)
    builder.add_conditional_edges("synthesize", after_synthesize)
    return builder


async def after_think(
    state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps
) -> Literal["drain_interrupts", "act", "synthesize"]:
    """Run calls: native ones at once, for nothing may stand between a call and its result."""
    if open_calls(state.messages):
        at_once = state.mode == "native" or not await message_waits(state, runtime)
        return "act" if at_once else "drain_interrupts"
    drains = await message_waits(state, runtime) or check_due(state, deps.for_run(runtime))
    return "synthesize" if is_over(state) and not drains else "drain_interrupts"


async def after_act(
    state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps
) -> Literal["drain_interrupts", "guard_context", "think"]:
    """Go on with the next iteration, by way of the nodes that have something to do."""
    if is_at_limit(state) or await message_waits(state, runtime):
        return "drain_interrupts"
    return await to_next_call(state, runtime, deps=deps)


async def after_drain(
    state: AgentState,
) -> Literal["act", "guard_context", "synthesize", "__end__"]:
    """Run a call that waits; answer when the model did, or at a limit; else go on."""
    if open_calls(state.messages):
        return "act"
    if marked(state.messages[-1]) == "answer":
        return "__end__"  # It had ended; what was added since then was recalled.
    return "synthesize" if is_over(state) else "guard_context"


async def after_synthesize(state: AgentState) -> Literal["guard_context", "__end__"]:
    """Go on where a message came while the answer streamed."""
    return "guard_context" if marked(state.messages[-1]) == "interrupt" else "__end__"


async def to_next_call(
    state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps
) -> Literal["guard_context", "think"]:
    """Ask the model, once its prompt fits."""
    return "think" if prompt_fits(state, deps.for_run(runtime)) else "guard_context"


def build_graph(
    model: LanguageModel | BaseChatModel | str | None = None,
    tools: Iterable[Tool] = (),
    *,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    models: ModelRegistry | None = None,
    response_format: Schema | None = None,
    pre_tool_use: PreToolUse | None = None,
    post_tool_use: PostToolUse | None = None,
    **settings: Any,
) -> AgentGraph:
    """Make a runnable graph: `ainvoke`, `astream`, … and, from sync code, `invoke`, `stream`, ….

    Args:
        model: A chat model, or a name that the registry knows; None takes what is set up.
        tools: LangChain tools, or plain typed functions with a docstring.
        checkpointer: Where threads are kept; None keeps none.
        store: Where interrupts are queued; None takes none.
        models: The models that a run may choose by name.
        response_format: A pydantic model or a JSON schema of an object: every answer is also given
            as data that fit it, in the state's `structured`.
        pre_tool_use: Allows, denies or changes a call before it runs, or asks a person.
        post_tool_use: Changes what the model reads of a result.
        settings: Any setting by its name (see `graph_agent.Settings`).

    Raises:
        ConfigError: A setting, the model's name, a tool or the schema is wrong.
    """
    chosen = Settings.load(keywords=settings)
    models = models or ModelRegistry(settings=chosen)
    deps = Deps(
        model=models.wrapped(model),
        tools=ToolRegistry(tools),
        settings=chosen,
        models=models,
        response_format=checked_form(response_format),
        hooks=Hooks(pre_tool_use=pre_tool_use, post_tool_use=post_tool_use),
    )
    return compile_graph(deps, checkpointer=checkpointer, store=store)


def compile_graph(
    deps: Deps, *, checkpointer: Checkpointer = None, store: BaseStore | None = None
) -> AgentGraph:
    """Compile the wired graph, with its sync methods."""
    if isinstance(checkpointer, KnownSteps):
        deps = replace(deps, steps=checkpointer.steps)
    graph = wire(deps).compile(checkpointer, store=store, name="react")
    graph.config = RunnableConfig(recursion_limit=RECURSION_LIMIT)
    return with_sync_methods(graph)
