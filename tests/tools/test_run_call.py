"""Whatever a call does, it becomes a message to the model, and spares its siblings."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import (
    BaseTool,
    InjectedToolCallId,
    StructuredTool,
    ToolException,
    tool,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from graph_agent.tools.registry import Tool, ToolRegistry
from graph_agent.tools.run_call import Call, run_call

pytestmark = pytest.mark.anyio

CALLER: ContextVar[str] = ContextVar("caller", default="nobody")


class State(TypedDict):
    notes: str


def a_call(name: str, args: dict[str, Any] | None = None, **more: Any) -> Call:
    return Call(id="c1", message_id="m1", name=name, args=args or {}, **more)


async def in_graph(work: Callable[[], Any]) -> list[Any]:
    """Run work where calls run: within a node of a graph."""
    results: list[Any] = []

    async def node(state: State) -> State:
        results.append(await work())
        return state

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
    await graph.ainvoke({"notes": "from state"})
    return results


async def run(
    function: Tool, args: dict[str, Any] | None = None, *, seconds: float = 5.0
) -> ToolMessage:
    registry = ToolRegistry([function])
    [call] = [a_call(name, args) for name in registry.names()]
    [message] = await in_graph(lambda: run_call(call, registry, seconds=seconds))
    assert isinstance(message, ToolMessage)
    assert (message.tool_call_id, message.id, message.name) == ("c1", "m1", call.name)
    assert message.response_metadata["seconds"] >= 0
    return message


async def test_sync_and_async_functions_run() -> None:
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    async def add_soon(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    for function in (add, add_soon):
        message = await run(function, {"a": 1})
        assert (message.content, message.status) == ("3", "success")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        pytest.param(None, "(no output)", id="None"),
        pytest.param([], "[]", id="empty list"),
        pytest.param({"도시": "서울"}, '{"도시":"서울"}', id="data"),
        pytest.param(["a", "b"], '["a","b"]', id="texts"),
        pytest.param(b"\xff", "(1 bytes that are no text)", id="bytes"),
    ],
)
async def test_what_a_tool_returns_is_text_for_the_model(result: Any, text: str) -> None:
    @tool
    def give() -> Any:
        """Give."""
        return result

    assert (await run(give)).content == text


class Listing(BaseTool):
    """A tool that is a class."""

    name: str = "listing"
    description: str = "List."
    found: list[str]

    def _run(self) -> list[str]:
        return self.found


@pytest.mark.parametrize(("found", "text"), [([], "(no output)"), (["a"], '["a"]')])
async def test_a_tool_that_is_a_class_runs_too(found: list[str], text: str) -> None:
    assert (await run(Listing(found=found))).content == text


async def test_what_is_injected_reaches_the_tool() -> None:
    def look(
        place: str,
        state: Annotated[dict[str, Any], InjectedState],
        notes: Annotated[str, InjectedState("notes")],
        call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime,
    ) -> str:
        """Look."""
        return f"{place} {notes} {state['notes']} {call_id} {runtime.tool_call_id}"

    message = await run(look, {"place": "here"})

    assert message.content == "here from state from state c1 c1"


async def test_artifacts_stay_beside_the_content() -> None:
    @tool(response_format="content_and_artifact")
    def draw() -> tuple[dict[str, int], bytes]:
        """Draw."""
        return {"width": 3}, b"png"

    message = await run(draw)

    assert (message.content, message.artifact) == ('{"width":3}', b"png")


async def test_a_command_counts_by_its_message() -> None:
    @tool
    def hand_over(call_id: Annotated[str, InjectedToolCallId]) -> Command[str]:
        """Hand over."""
        return Command(update={"messages": [ToolMessage("done", tool_call_id=call_id)]})

    assert (await run(hand_over)).content == "done"


def raising(error: BaseException) -> Tool:
    def work() -> str:
        """Work."""
        raise error

    return work


class Answer(BaseModel):
    n: int


@pytest.mark.parametrize(
    ("error", "text"),
    [
        pytest.param(ValueError("bad id 7"), "Error: ValueError: bad id 7", id="exception"),
        pytest.param(ToolException("no such page"), "Error: no such page", id="ToolException"),
        pytest.param(TimeoutError("host"), "Error: TimeoutError: host", id="its own time-out"),
        pytest.param(
            ExceptionGroup("x", [ExceptionGroup("y", [ValueError("bad id 7")])]),
            "Error: ValueError: bad id 7",
            id="groups",
        ),
        pytest.param(
            asyncio.CancelledError(), "Error: `work` was cancelled from within.", id="cancelled"
        ),
        pytest.param(OSError("\ud83d\x00"), "Error: OSError: ?�", id="text that cannot be kept"),
    ],
)
async def test_what_a_tool_raises_is_told_without_a_trace(error: BaseException, text: str) -> None:
    message = await run(raising(error))

    assert (message.content, message.status) == (text, "error")


async def test_a_validation_within_a_tool_is_no_fault_of_the_arguments() -> None:
    def work() -> str:
        """Work."""
        return str(Answer.model_validate({"n": "x"}))

    message = await run(work)

    assert message.text.startswith("Error: ValidationError: 1 validation error for Answer")


async def test_arguments_that_do_not_fit_are_named() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    message = await run(add, {"a": "x"})

    assert message.content == (
        "Error: the arguments of `add` do not fit: a: Input should be a valid integer, unable to "
        "parse string as an integer; b: Field required. Correct them."
    )


SERVERS_SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "tags": {"type": "array"}},
    "required": ["n"],
}


def echoing(schema: dict[str, Any] | None) -> BaseTool:
    async def echo(**args: Any) -> dict[str, Any]:
        return args

    return StructuredTool(name="echo", description="Echo.", args_schema=schema, coroutine=echo)


class Echo(BaseTool):
    """A tool that is a class and takes anything."""

    name: str = "echo"
    description: str = "Echo."

    def _run(self, **args: Any) -> dict[str, Any]:
        return args


@pytest.mark.parametrize(
    ("tool", "args", "text"),
    [
        pytest.param(
            echoing(SERVERS_SCHEMA), {"n": "3", "tags": "[1]"}, '{"n":3,"tags":[1]}', id="fits"
        ),
        pytest.param(
            echoing(SERVERS_SCHEMA),
            {"n": 3, "more": 1},
            '{"n":3}\n\n(`echo` takes no `more`: left out.)',
            id="unknown",
        ),
        pytest.param(
            echoing(SERVERS_SCHEMA),
            {"tags": 1},
            "Error: the arguments of `echo` do not fit: tags: 1 is not of type 'array'; "
            "'n' is a required property. Correct them.",
            id="unfit",
        ),
        pytest.param(echoing({"type": "object"}), {"x": "3"}, '{"x":"3"}', id="any"),
        pytest.param(Echo(), {"x": "3"}, '{"x": "3"}', id="class that takes any"),
        pytest.param(
            Listing(found=["a"]),
            {"x": 1},
            '["a"]\n\n(`listing` takes no `x`: left out.)',
            id="class",
        ),
    ],
)
async def test_arguments_are_fitted_also_where_langchain_checks_nothing(
    tool: BaseTool, args: dict[str, Any], text: str
) -> None:
    assert (await run(tool, args)).content == text


async def test_blocks_keep_the_note_about_what_was_left_out() -> None:
    def draw() -> list[dict[str, str]]:
        """Draw."""
        return [{"type": "text", "text": "done"}]

    message = await run(StructuredTool.from_function(draw, response_format="content"), {"x": 1})

    assert "(`draw` takes no `x`: left out.)" in str(message.content)


async def test_what_is_injected_cannot_be_given_by_the_model() -> None:
    def look(notes: Annotated[str, InjectedState("notes")]) -> str:
        """Look."""
        return notes

    message = await run(look, {"notes": "mine"})

    assert message.content == "from state\n\n(`look` takes no `notes`: left out.)"


async def test_calls_that_cannot_run_say_what_to_do() -> None:
    registry = ToolRegistry([raising(AssertionError("it ran"))])

    unknown = await run_call(a_call("nothing"), registry, seconds=5)
    invalid = await run_call(a_call("work", invalid="it was cut off"), registry, seconds=5)

    assert (unknown.content, unknown.status) == (
        "There is no tool `nothing`. The tools are: work.",
        "error",
    )
    assert (invalid.content, invalid.status) == (
        "The call was not run: it was cut off. Send it again, corrected.",
        "error",
    )


async def test_a_call_that_takes_too_long_ends() -> None:
    released = threading.Event()

    def hang() -> None:
        """Hang."""
        released.wait(10)

    async def hang_soon() -> None:
        """Hang."""
        await asyncio.Event().wait()

    for function in (hang, hang_soon):
        message = await run(function, seconds=0.05)
        assert (message.text, message.status) == (
            f"Error: `{function.__name__}` did not finish within 0.05 seconds.",
            "error",
        )
    released.set()


async def test_a_cancelled_run_stays_cancelled() -> None:
    started = asyncio.Event()

    async def hang() -> None:
        """Hang."""
        started.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(run(hang))
    await started.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running


async def test_more_sync_tools_than_the_loop_has_threads_run_at_once() -> None:
    meet = threading.Barrier(40)

    def wait_for_all() -> int:
        """Return once all run."""
        return 40 if meet.wait(10) >= 0 else 0

    registry = ToolRegistry([wait_for_all])

    async def work() -> list[str]:
        call = a_call("wait_for_all")
        results = await asyncio.gather(*(run_call(call, registry, seconds=20) for _ in range(40)))
        return [message.text for message in results]

    assert await in_graph(work) == [["40"] * 40]


async def test_a_sync_tool_leaves_the_loop_free() -> None:
    go_on = threading.Event()

    def wait() -> str:
        """Wait for what only the loop can give."""
        return "free" if go_on.wait(10) else "blocked"

    running = asyncio.create_task(run(wait))
    asyncio.get_running_loop().call_soon(go_on.set)

    assert (await running).content == "free"


async def test_the_callers_context_is_seen_in_the_tool() -> None:
    def who() -> str:
        """Say who calls."""
        return CALLER.get()

    async def who_soon() -> str:
        """Say who calls."""
        return CALLER.get()

    CALLER.set("Ada")

    assert [(await run(function)).content for function in (who, who_soon)] == ["Ada", "Ada"]


async def test_a_question_to_a_person_passes_through() -> None:
    def buy() -> str:
        """Buy."""
        return f"bought: {interrupt('Buy it?')}"

    registry = ToolRegistry([buy])

    async def node(state: State) -> State:
        return {"notes": (await run_call(a_call("buy"), registry, seconds=5)).text}

    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    graph = builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}

    asked = await graph.ainvoke({"notes": ""}, thread)
    answered = await graph.ainvoke(Command(resume="yes"), thread)

    assert [question.value for question in asked["__interrupt__"]] == ["Buy it?"]
    assert answered["notes"] == "bought: yes"
