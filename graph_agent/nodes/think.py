"""Asks the model for its next move: tool calls, or the answer."""

from collections.abc import Sequence
from dataclasses import replace

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime

from graph_agent.context.prompt import prompt_of
from graph_agent.deps import Deps
from graph_agent.errors import ToolsRefusedError
from graph_agent.events import ThinkingDone, ThinkingStart, emit
from graph_agent.models.language_model import LanguageModel
from graph_agent.prompts import SAID_NOTHING
from graph_agent.protocols import Move
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Update
from graph_agent.usage import add_usage, usage_of


async def think(state: AgentState, runtime: Runtime[RunOptions], *, deps: Deps) -> Update:
    """Put the conversation to the model, and read its reply in native form.

    Reads `messages`, `cut` and `selected_tools`. Adds the reply, and in JSON mode a request to
    reformat where it could not be read. A tool that is called joins the selection.
    """
    deps = deps.for_run(runtime)
    iteration, reasoning = state.iteration + 1, ""
    emit(runtime.stream_writer, ThinkingStart(iteration=iteration))
    try:
        move = await _move(state, deps)
        reasoning = move.reasoning
    finally:
        emit(runtime.stream_writer, ThinkingDone(iteration=iteration, reasoning=reasoning))
    update = Update(
        messages=move.messages,
        iteration=iteration,
        mode=move.mode,
        usage=add_usage(state.usage, "loop", usage_of(*move.replies)),
    )
    if wanted := _unselected(move, state, deps):
        update["selected_tools"] = [*state.selected_tools, *wanted]
    return update


async def _move(state: AgentState, deps: Deps) -> Move:
    """Ask, and once more where the model said nothing, or only thought."""
    prompt = prompt_of(state, deps.caps)
    view = prompt.messages
    move = await _asked(view, state, deps)
    _calibrate(deps.model, deps.protocol(state).overhead() + prompt.tokens, move)
    if move.is_empty:
        again = await _asked([*view, HumanMessage(SAID_NOTHING)], state, deps)
        move = replace(again, replies=[*move.replies, *again.replies])
    if move.calls_as_text:
        _forget_tools(deps.model)
    return move


async def _asked(view: Sequence[BaseMessage], state: AgentState, deps: Deps) -> Move:
    """Ask by the API's own tools, or else, at once and from then on, in JSON mode."""
    protocol = deps.protocol(state)
    try:
        return await protocol.ask(deps.model, view)
    except ToolsRefusedError:
        if protocol.mode == "json":
            raise
        _forget_tools(deps.model)
        return await deps.protocol(state).ask(deps.model, view)


def _calibrate(model: LanguageModel, tokens: int, move: Move) -> None:
    """Compare our count of the prompt with what the endpoint reports."""
    reported = move.replies[0].usage_metadata
    if reported is not None:
        model.endpoint.calibration.observe(tokens, reported["input_tokens"])


def _forget_tools(model: LanguageModel) -> None:
    """Remember it for the endpoint: whoever asks it next begins in JSON mode."""
    model.endpoint.forget_tools()
    model.learn()


def _unselected(move: Move, state: AgentState, deps: Deps) -> list[str]:
    """List the tools that were called and exist, but are not on offer."""
    if not state.selected_tools:
        return []
    replies = [message for message in move.messages if isinstance(message, AIMessage)]
    called = dict.fromkeys(call["name"] for reply in replies for call in reply.tool_calls)
    return [name for name in called if deps.tools.get(name) and name not in state.selected_tools]
