"""What `guard_context` costs per iteration, by the length of the history; nothing is compacted.

Each iteration brings a call with a result of 2 kB, as in a run. Medians, in milliseconds.
Run it with `python -m benchmarks.guard_context`.
"""

import asyncio
import gc
import statistics
import time
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.runtime import ExecutionInfo, Runtime

from graph_agent import Settings
from graph_agent.context.prompt import prompt_of
from graph_agent.deps import Deps
from graph_agent.models.language_model import LanguageModel
from graph_agent.nodes import guard_context
from graph_agent.settings import RunOptions
from graph_agent.state import AgentState, Turn
from graph_agent.testing import ScriptedChatModel
from graph_agent.tools.registry import ToolRegistry

SIZES = (10_000, 50_000, 100_000, 200_000)
"""Tokens of history."""
ITERATIONS = 200
RESULT = "The seventeen ferries leave the northern harbour at noon, most of them late. " * 26


def exchange(number: int) -> list[AnyMessage]:
    """Make a call and its result."""
    call = {"name": "read", "args": {"page": number}, "id": f"c{number}", "type": "tool_call"}
    return [
        AIMessage("", tool_calls=[call], id=f"a{number}"),
        ToolMessage(f"{number} {RESULT}", tool_call_id=f"c{number}", id=f"t{number}"),
    ]


async def measured(tokens: int) -> float:
    """Return the median cost of one call of the node at a history of so many tokens."""
    model = LanguageModel.of(ScriptedChatModel(replies=[]), context_size=1_000_000)
    deps = Deps(model=model, tools=ToolRegistry(), settings=Settings(database="memory:"))
    messages: list[AnyMessage] = [HumanMessage("What do the pages say?", id="q")]
    state = thread(messages)
    number = 0
    while prompt_of(state, deps.caps).tokens < tokens:
        messages = [*messages, *exchange(number := number + 1)]
        state = thread(messages)
    seconds = []
    info = ExecutionInfo(checkpoint_id="", checkpoint_ns="", task_id="", thread_id="t", run_id="r")
    runtime: Runtime[RunOptions] = Runtime(execution_info=info)
    for _ in range(ITERATIONS):
        messages = [*messages, *exchange(number := number + 1)]
        state = thread(messages)
        start = time.perf_counter()
        update = await guard_context(state, runtime, deps=deps)
        seconds.append(time.perf_counter() - start)
        assert update == {}, update
    return statistics.median(seconds) * 1_000


def thread(messages: Sequence[AnyMessage]) -> AgentState:
    """Make a state as LangGraph hands it to a node."""
    return AgentState(messages=list(messages), turn=Turn(run_id="r", start=0, started_at=0.0))


async def main() -> None:
    """Print a table."""
    print("| history, tokens | guard_context, ms |\n| --: | --: |")
    for size in SIZES:
        gc.collect()
        print(f"| {size:,} | {await measured(size):.3f} |")


if __name__ == "__main__":
    asyncio.run(main())
