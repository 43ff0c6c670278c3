"""Starts a run: resets what belongs to one run, and picks tools where there are many."""

import asyncio
import logging
from uuid import uuid4

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from graph_agent.context.budget import prompt_budget
from graph_agent.deps import Deps
from graph_agent.errors import ConfigError, ModelError
from graph_agent.events import SelectingTools, emit
from graph_agent.limits import loop_seconds
from graph_agent.nodes.drain_interrupts import acknowledge_saved
from graph_agent.nodes.on_record import on_record
from graph_agent.prompts import SELECT_TOOLS
from graph_agent.question import sendable
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, RunUsage, Turn, Update, is_question
from graph_agent.structured import structured_llm_call
from graph_agent.tool_catalogue import affordable, catalogue
from graph_agent.trace import question_text
from graph_agent.usage import add_usage, no_usage

logger = logging.getLogger(__name__)


class ToolChoice(BaseModel):
    """The names of the tools to offer."""

    tools: list[str]


async def select_tools(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
    """Begin a turn on the newest question.

    Reads `messages`. Resets the fields of a run; `selected_tools` is empty (all) unless there are
    more tools than the threshold. No model is asked before the question is saved: once a run has
    done anything, its thread holds it, whatever happens.
    """
    deps = deps.for_run(runtime)
    await on_record(runtime, deps)
    started, start = deps.now(), question_index(state)
    await acknowledge_saved(state, runtime)
    asked = _sendable(state.messages[-1], deps)
    selected, usage = await _select(question_text(state.messages[start:]), runtime, deps)
    info = runtime.execution_info
    update = Update(
        turn=Turn(
            run_id=(info.run_id if info else None) or str(uuid4()),
            start=start,
            started_at=started,
        ),
        iteration=0,
        iteration_limit=deps.settings.max_iterations,
        selected_tools=selected,
        held=[],
        usage=usage,
        answer="",
        structured=None,
        structured_error=None,
        stop_reason=None,
    )
    if asked is not None:
        update["messages"] = [asked]
    return update


def _sendable(newest: BaseMessage, deps: Deps) -> HumanMessage | None:
    """Check the newest message; return it where it must be put into another form.

    Those before it were checked in their time, and what the model in use cannot read of them is
    left out.

    Raises:
        ConfigError: The model cannot be sent it.
    """
    if not (is_question(newest) and isinstance(newest, HumanMessage)):
        return None
    model = deps.model
    asked = sendable(newest, vision=model.abilities.vision, model=model.name)
    return None if asked is newest else asked


def question_index(state: AgentState) -> int:
    """Find the question of a new run: the first of the user's messages at the end.

    System messages among them do not count: they are part of the system prompt.

    Raises:
        ConfigError: The thread does not end with a user's message.
    """
    question = None
    for index in reversed(range(len(state.messages))):
        if is_question(state.messages[index]):
            question = index
        elif not isinstance(state.messages[index], SystemMessage):
            break
    if question is None:
        raise ConfigError("There is no question: put a user message last in `messages`.")
    return question


async def _select(
    question: str, runtime: Runtime[RunOptions], deps: Deps
) -> tuple[list[str], RunUsage]:
    """Ask which tools help; any failure means all of them, or as many as a prompt can hold."""
    total = len(deps.tools)
    if total <= deps.settings.tool_selection_threshold:
        return [], no_usage()
    emit(runtime.stream_writer, SelectingTools(total_tools=total))
    limit = deps.settings.tool_selection_max
    model = deps.fast_model or deps.model
    budget = prompt_budget(model, deps.settings)
    # Ranking a thousand tools takes a while, in which other runs should go on.
    listed = await asyncio.to_thread(catalogue, list(deps.tools), question, budget=budget)
    request = SELECT_TOOLS.format(limit=limit, catalogue=listed)
    names, usage = list[str](), no_usage()
    try:
        async with asyncio.timeout(loop_seconds(deps.settings.run_timeout)):
            result = await structured_llm_call(
                model,
                [SystemMessage(request), HumanMessage(question)],
                ToolChoice,
                name="select_tools",
                default_value=ToolChoice(tools=[]),
            )
    except (ModelError, TimeoutError) as error:
        # The loop itself will report an endpoint that is down, or that the run's time is up.
        logger.info("the tool selection failed: %s", error)
    else:
        names = [name for name in dict.fromkeys(result.value.tools) if deps.tools.get(name)]
        usage = add_usage(usage, "select_tools", result.usage)
    if not names:
        return await asyncio.to_thread(affordable, deps.tools, question, budget=deps.budget), usage
    return names[:limit], usage
