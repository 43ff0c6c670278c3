"""Streams the answer, and begins anew where the stream breaks off: no text is ever shown twice."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langgraph.types import StreamWriter

from graph_agent.context.tokens import message_tokens
from graph_agent.deps import Deps
from graph_agent.errors import ContextOverflowError, ModelError, ModelUnavailableError
from graph_agent.events import AnswerDelta, AnswerReset, emit
from graph_agent.nodes.fallback import switched_turn
from graph_agent.nodes.limited import answer_time_left
from graph_agent.nodes.shown_text import ShownText
from graph_agent.nodes.smaller_prompt import MOST_SMALLER
from graph_agent.plain_text import plain_text
from graph_agent.state import AgentState, RunUsage, Turn
from graph_agent.usage import add_usage, no_usage, usage_of

logger = logging.getLogger(__name__)

Request = Callable[[AgentState, Deps], Sequence[BaseMessage]]
"""Makes what is sent, for the window of the model in use."""


@dataclass
class Synthesis:
    """The answer as it is shown, and what it took."""

    usage: RunUsage
    turn: Turn
    """Tells whether a fallback model took over."""
    shown: str = ""
    begun: bool = False
    """Whether the newest try brought a piece."""

    @property
    def model(self) -> str | None:
        """Name of the fallback model in use; None where none is."""
        switched = self.turn.get("switched")
        return switched["model"] if switched else None

    @classmethod
    def of(cls, state: AgentState) -> Self:
        """Begin where the loop ended."""
        return cls(usage=state.usage or no_usage(), turn=state.turn)

    def show(self, text: str, write: StreamWriter) -> None:
        """Add a piece."""
        if text:
            self.shown += text
            emit(write, AnswerDelta(content=text))

    def take_back(self, write: StreamWriter) -> None:
        """Say that all pieces so far are void."""
        if self.shown:
            self.shown = ""
            emit(write, AnswerReset())


async def synthesis(
    written: Synthesis, state: AgentState, deps: Deps, write: StreamWriter, *, request: Request
) -> None:
    """Stream the answer into `written`; nothing is shown in the end where that failed.

    After a break amid the stream the same model begins anew, once; then each one that may take
    over is asked. No try starts after the deadline for retries, and all end with the run's time.
    """
    left = answer_time_left(state, deps)
    if left == 0:
        return
    try:
        async with asyncio.timeout(left) as patience:
            await _tried(written, state, deps, write, request)
    except TimeoutError:
        if not patience.expired():
            raise
        logger.warning("the run's time is up amid the answer")
        written.take_back(write)
    if not written.shown.strip():
        written.take_back(write)


async def _tried(
    written: Synthesis, state: AgentState, deps: Deps, write: StreamWriter, request: Request
) -> None:
    started, may_begin_anew, smaller = deps.model.retry.clock(), True, MOST_SMALLER
    while True:
        messages = request(state, deps)
        fault = await _fault_of_one_try(written, messages, deps, write, started)
        if fault is None:
            return
        written.take_back(write)
        logger.warning("the answer of model %s failed: %s", deps.model.name, fault)
        if deps.model.retry.is_late(started):
            return
        if isinstance(fault, ContextOverflowError) and smaller:
            smaller -= 1
            deps.model.endpoint.learn_overflow(sum(map(message_tokens, messages)))
            continue
        passing = isinstance(fault, ModelUnavailableError) and deps.model.retry.max_retries > 0
        if may_begin_anew and passing and written.begun:
            may_begin_anew = False
            continue
        turn = switched_turn(written.turn, written.usage, deps, fault)
        if turn is None:
            return
        written.turn, may_begin_anew = turn, True
        deps = deps.using(turn["switched"]["model"])


async def _fault_of_one_try(
    written: Synthesis,
    messages: Sequence[BaseMessage],
    deps: Deps,
    write: StreamWriter,
    started: float,
) -> ModelError | None:
    """Show a stream piece by piece; return what broke it off, if anything did."""
    text, reported = ShownText(deps.tools), AIMessage("")
    written.begun = False
    try:
        async for chunk in deps.model.stream(messages, since=started):
            written.begun = True
            if chunk.usage_metadata:
                reported = AIMessage("", usage_metadata=chunk.usage_metadata)
            _expect_no_call(chunk)
            written.show(text.more(plain_text(chunk.text)), write)
        written.show(text.rest(), write)
    except ModelError as fault:
        return fault
    finally:
        written.usage = add_usage(written.usage, "synthesize", usage_of(reported))
    return None


def _expect_no_call(chunk: AIMessageChunk) -> None:
    if chunk.tool_call_chunks:
        raise ModelError("The model made a call in place of an answer.")
