"""Starts a run: resets what belongs to one run, and picks tools where there are many."""

from uuid import uuid4

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from graph_agent.deps import Deps
from graph_agent.errors import ConfigError, ModelError
from graph_agent.events import SelectingTools, emit
from graph_agent.prompts import SELECT_TOOLS
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, RunUsage, Turn, Update, is_question
from graph_agent.structured import structured_llm_call
from graph_agent.trace import question_text
from graph_agent.usage import add_usage, no_usage


class ToolChoice(BaseModel):
    """The names of the tools to offer."""

    tools: list[str]


async def select_tools(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
    """Begin a turn on the newest question.

    Reads `messages`. Resets the fields of a run; `selected_tools` is empty (all) unless there are
    more tools than the threshold.
    """
    deps = deps.for_run(runtime)
    start = question_index(state)
    selected, usage = await _select(question_text(state.messages[start:]), runtime, deps)
    info = runtime.execution_info
    return Update(
        turn=Turn(
            run_id=(info.run_id if info else None) or str(uuid4()),
            start=start,
            started_at=deps.now(),
        ),
        iteration=0,
        iteration_limit=deps.settings.max_iterations,
        selected_tools=selected,
        held=[],
        usage=usage,
        answer="",
        stop_reason=None,
    )


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
    """Ask which tools help; any failure means all of them."""
    total = len(deps.tools)
    if total <= deps.settings.tool_selection_threshold:
        return [], no_usage()
    emit(runtime.stream_writer, SelectingTools(total_tools=total))
    limit = deps.settings.tool_selection_max
    request = SELECT_TOOLS.format(limit=limit, catalogue=deps.tools.catalogue())
    try:
        result = await structured_llm_call(
            deps.fast_model or deps.model,
            [SystemMessage(request), HumanMessage(question)],
            ToolChoice,
            name="select_tools",
            default_value=ToolChoice(tools=[]),
        )
    except ModelError:
        # The loop itself will report an endpoint that is down; a selection may fail quietly.
        return [], no_usage()
    known = [name for name in dict.fromkeys(result.value.tools) if deps.tools.get(name)]
    return known[:limit], add_usage(no_usage(), "select_tools", result.usage)
