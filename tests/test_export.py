"""A thread written down: Markdown that nothing breaks out of, and JSON that is complete."""

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest
from langchain_core.messages import AIMessage, SystemMessage, messages_from_dict
from langchain_core.messages.tool import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from markdown_it import MarkdownIt

from graph_agent import ConfigError, ReActAgent, ThreadNotFoundError, build_graph
from graph_agent.prompts import CALL_CANCELLED
from graph_agent.state import AgentInput
from graph_agent.testing import Gate, Held, ScriptedChatModel
from graph_agent.threads.export import ExportedThread
from graph_agent.threads.listing import config_for

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]

HOSTILE = [
    pytest.param("```\n# Not a heading\n````\n`````x", id="fences"),
    pytest.param("~~~\n# Not a heading", id="an open fence"),
    pytest.param("one\r# Not a heading\r\n## Nor this", id="carriage returns"),
    pytest.param("</details>\n\n# Not a heading\n\n<details>", id="our own folds"),
    pytest.param("<!-- for ever\n\n<script>alert(1)</script>\n\n<pre>", id="open HTML"),
    pytest.param("1. a\n\n   - b\n\n\n---\n===\n> c\n    d\n\t- e", id="lists and rules"),
    pytest.param("a `b`` c``` [x]: y | *z* &amp; $m$", id="spans"),
    pytest.param("\n\n", id="nearly nothing"),
]


def look(place: str) -> str:
    """Look.

    Args:
        place: Where.
    """
    return f"seen {place}"


def calling(*places: str) -> AIMessage:
    made: Any = [
        {"id": f"c{n}", "name": "look", "args": {"place": place}, "type": "tool_call"}
        for n, place in enumerate(places)
    ]
    return AIMessage("", tool_calls=made)


def normal(text: str) -> str:
    """Return a text with the line ends that Markdown reads."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def blocks(text: str, *, level: int = 0) -> list[tuple[str, str]]:
    """Kind and source of each block of a Markdown text, at a level of nesting."""
    tokens = MarkdownIt("commonmark").parse(text)
    return [(t.type, t.content) for t in tokens if t.level == level and t.nesting >= 0]


async def test_a_thread_reads_well(set_stage: SetStage, speech: Any) -> None:
    gate = Gate()
    call = speech.calls(("look", {"place": "a"}), ("nothing", {}))
    script = [Held(gate, call), speech.final("Wait."), "It is **here**.", speech.final("Bye.")]
    stage = set_stage(script, [look], tool_concurrency=1)
    agent: ReActAgent = stage.agent
    run = asyncio.ensure_future(agent.run("Where *is* it?\n\nTell me.", thread_id="t"))
    await gate.reached()
    await agent.interrupt("t", "Hurry.")
    gate.open()
    first = await run
    await agent.run("Thanks.", thread_id="t")
    info = await agent.thread("t")
    assert info is not None

    text = await agent.export("t")

    day = f"{info.created_at:%Y-%m-%d %H:%M} UTC"
    tokens = first.usage["input_tokens"] + first.usage["output_tokens"]
    seconds = {step.tool_name: f"{step.seconds:.2f} s" for step in first.steps}
    assert (
        text.replace(f"{info.updated_at:%Y-%m-%d %H:%M} UTC", day)
        == f"""\
# Where \\*is\\* it? Tell me.

- Thread: `t`
- Begun: {day}
- Last used: {day}

## 1. Question

> Where *is* it?
>
> Tell me.

<details>
<summary>2 tool calls</summary>

- `look`, {seconds["look"]}

  ```json
  {{"place":"a"}}
  ```

  ```
  seen a
  ```

- `nothing`, failed, {seconds["nothing"]}

  ```json
  {{}}
  ```

  ```
  There is no tool `nothing`. The tools are: look.
  ```

</details>

**Added meanwhile:**

> Hurry.

**Answer:**

> It is **here**.

*{day} · stopped: final · model calls: 3 · tokens: {tokens:,}*

## 2. Question

> Thanks.

**Answer:**

> Bye.

*{day} · stopped: final · model calls: 1 · tokens: {await last_tokens(agent)}*
"""
    )


async def last_tokens(agent: ReActAgent) -> int:
    usage = (await agent.snapshot("t")).values["usage"]
    return int(usage["input_tokens"] + usage["output_tokens"])


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_nothing_breaks_out_of_its_place(hostile: str) -> None:
    made = calling(f"{hostile}x", "y")
    made.tool_calls[1]["name"] = f"{hostile}y"
    replies = [made.model_copy(update={"content": f"{hostile}."}), "draft", f"{hostile}!"]
    agent = ReActAgent(
        ScriptedChatModel(replies=replies),
        [look],
        database="memory:",
        completion_check_min_tools=0,
    )
    async with agent:
        await agent.run(f"{hostile}?", thread_id=f"t`{hostile}")
        text = await agent.export(f"t`{hostile}")

    fold = "<details>\n<summary>2 tool calls</summary>\n"
    assert blocks(text) == [
        ("heading_open", ""),
        ("bullet_list_open", ""),
        ("heading_open", ""),
        ("blockquote_open", ""),
        ("html_block", fold),
        ("bullet_list_open", ""),
        ("html_block", "</details>\n"),
        ("paragraph_open", ""),
        ("blockquote_open", ""),
        ("paragraph_open", ""),
    ]
    # Of a name that no tool can have little is left when the model's reply is read.
    *items, unknown = [content for kind, content in blocks(text, level=2) if kind == "fence"]
    assert unknown.startswith("There is no tool `")
    assert items == [
        f"{orjson.dumps({'place': f'{hostile}x'}).decode()}\n",
        f"{normal(f'seen {hostile}x')}\n",
        '{"place":"y"}\n',
    ]


async def test_long_arguments_and_results_are_cut() -> None:
    args, result = f'{{"place":"{"x" * 2_000}"}}', f"seen {'x' * 2_000}"
    model = ScriptedChatModel(replies=[calling("x" * 2_000), "draft", "Seen."])
    async with ReActAgent(model, [look], database="memory:") as agent:
        await agent.run("Go", thread_id="t")
        text = await agent.export("t")
        data = orjson.loads(await agent.export("t", "json"))

    fences = [content for kind, content in blocks(text, level=2) if kind == "fence"]
    assert fences == [
        f"{args[:1_000]}\n… ({len(args) - 1_000:,} more characters)\n",
        f"{result[:2_000]}\n… ({len(result) - 2_000:,} more characters)\n",
    ]
    assert data["runs"][0]["steps"][0]["observation"] == result


async def test_the_json_is_complete_and_always_the_same(
    set_stage: SetStage, speech: Any, database: str
) -> None:
    call = speech.calls(("look", {"place": "한국 🙂"}))
    script = [call, speech.final("draft"), "There.", speech.final("Bye.")]
    agent: ReActAgent = set_stage(script, [look], database=database).agent
    first = await agent.run("Where?", thread_id="t")
    second = await agent.run("Thanks.", thread_id="t")
    info = await agent.thread("t")
    assert info is not None

    text = await agent.export("t", "json")

    assert await agent.export("t", "json") == text
    thread = ExportedThread.model_validate_json(text)
    assert (thread.thread_id, thread.title) == ("t", "Where?")
    assert (thread.created_at, thread.updated_at) == (info.created_at, info.updated_at)
    assert messages_from_dict(thread.messages) == second.messages[1:]
    runs = [(run.start, run.run_id, run.iterations, run.stop_reason) for run in thread.runs]
    assert runs == [(0, first.run_id, 2, "final"), (4, second.run_id, 1, "final")]
    assert [run.usage for run in thread.runs] == [first.usage, second.usage]
    assert [run.steps for run in thread.runs] == [first.steps, []]
    started = [run.started_at for run in thread.runs if run.started_at]
    assert info.created_at <= started[0] < started[1]


async def test_a_run_that_broke_off_is_not_finished() -> None:
    model = ScriptedChatModel(replies=[calling("a"), "Here."])
    reached = asyncio.Event()

    async def look(place: str) -> None:
        """Look.

        Args:
            place: Where.
        """
        reached.set()
        await asyncio.Event().wait()

    async with ReActAgent(model, [look], database="memory:") as agent:
        run = asyncio.ensure_future(agent.run("Go", thread_id="t"))
        await reached.wait()
        run.cancel()
        await asyncio.wait([run])
        broken = await agent.export("t")
        await agent.run("Still there?", thread_id="t")
        runs = orjson.loads(await agent.export("t", "json"))["runs"]

    assert f"```\n  {CALL_CANCELLED}\n  ```" in broken
    assert "· not finished ·" in broken
    assert [run["stop_reason"] for run in runs] == [None, "final"]
    assert [step["observation"] for step in runs[0]["steps"]] == [CALL_CANCELLED]


async def test_a_fork_tells_what_it_still_knows() -> None:
    async with ReActAgent(ScriptedChatModel(replies=["1", "2", "3"]), database="memory:") as agent:
        for question in ("One?", "Two?"):
            await agent.run(question, thread_id="t")
        fork = await agent.fork("t")
        await agent.run("Three?", thread_id=fork)
        runs = orjson.loads(await agent.export(fork, "json"))["runs"]
        text = await agent.export(fork)

    assert [run["stop_reason"] for run in runs] == [None, "final", "final"]
    assert [run["start"] for run in runs] == [0, 2, 4]
    assert "> One?\n\n**Answer:**\n\n> 1\n\n## 2. Question" in text


async def test_a_thread_made_without_us_is_written_down() -> None:
    saver = InMemorySaver()
    graph = build_graph(ScriptedChatModel(replies=["Yes."]), checkpointer=saver)
    given: Sequence[Any] = [SystemMessage("Be kind."), ("user", "Hi"), ("user", "Are you there?")]
    await graph.ainvoke(AgentInput(messages=[*given]), config_for("t"))

    async with ReActAgent(ScriptedChatModel(replies=[]), checkpointer=saver) as agent:
        text = await agent.export("t")
        data = orjson.loads(await agent.export("t", "json"))

    assert text.startswith("# Untitled\n\n- Thread: `t`\n\n## 1. Question\n\n> Hi\n\n> Are you")
    assert (data["created_at"], len(data["messages"]), data["runs"][0]["start"]) == (None, 4, 1)


async def test_images_and_odd_values_are_written_down() -> None:
    def photo() -> list[dict[str, str]]:
        """Take a photo."""
        return [{"type": "image", "base64": "aGk=", "mime_type": "image/png"}]

    call: Any = {"id": "c", "name": "photo", "args": {}, "type": "tool_call"}
    model = ScriptedChatModel(replies=[AIMessage("", tool_calls=[call]), "draft", "Nice."])
    saver = InMemorySaver()
    async with ReActAgent(model, [photo], checkpointer=saver) as agent:
        await agent.run("Photo?", thread_id="t")
        odd = ToolMessage("odd", tool_call_id="c", artifact={1: b"\xff", "f": {2}, "n": math.nan})
        graph = build_graph(model, checkpointer=saver)
        await graph.aupdate_state(config_for("t"), {"messages": [odd]}, as_node="act")

        text = await agent.export("t")
        data = orjson.loads(await agent.export("t", "json"))

    assert "[image]" in text
    artifact = data["messages"][-1]["data"]["artifact"]
    assert artifact == {"1": "b'\\xff'", "f": "{2}", "n": None}


async def test_there_must_be_something_to_export() -> None:
    async with ReActAgent(ScriptedChatModel(replies=[]), database="memory:") as agent:
        await agent.register("new")
        text = await agent.export("new")
        data = orjson.loads(await agent.export("new", "json"))

        with pytest.raises(ThreadNotFoundError, match="There is no thread nowhere"):
            await agent.export("nowhere")
        with pytest.raises(ConfigError, match="There is no form `html`"):
            await agent.export("new", "html")  # type: ignore[arg-type]  # what a caller may try

    assert text.startswith("# Untitled\n")
    assert text.endswith("\n\nNothing was asked yet.\n")
    assert (data["runs"], data["messages"]) == ([], [])


def test_sync_code_exports() -> None:
    agent = ReActAgent(ScriptedChatModel(replies=["Yes."]), database="memory:")
    agent.run_sync("Hi", thread_id="t")

    text, data = agent.export_sync("t"), agent.export_sync("t", "json")
    agent.close()

    assert "> Yes." in text
    assert orjson.loads(data)["title"] == "Hi"
