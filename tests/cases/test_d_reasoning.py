"""Group D: reasoning goes back where it is wanted, and is never the answer."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from graph_agent import ModelRegistry, ReActAgent, Settings
from graph_agent.models.known_endpoint import forget_endpoints
from graph_agent.models.spec import ModelSpec
from graph_agent.testing import Deltas, StrictEndpoint
from graph_agent.testing.replies import Reply

pytestmark = pytest.mark.anyio
SetStage = Callable[..., Any]


def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is empty"


@asynccontextmanager
async def agent_before(
    endpoint: StrictEndpoint, folder: Path, wire: dict[str, Any]
) -> AsyncIterator[ReActAgent]:
    """An agent as a new process would start it: nothing is remembered but what is on disk."""
    forget_endpoints()
    chosen: dict[str, Any] = {
        "database": f"sqlite:///{folder}/threads.sqlite",
        "max_retries": 0,
        "synthesis": "never",
    }
    spec = ModelSpec(model="fake", base_url=endpoint.base_url, wire=wire)
    models = ModelRegistry({"fake": spec}, settings=Settings(**chosen), environ={})
    agent = ReActAgent("fake", [look], models=models, **chosen)
    try:
        yield agent
    finally:
        await agent.aclose()


def calling(number: int, reasoning: str) -> dict[str, Any]:
    call = {"id": f"{number}", "name": "look", "arguments": {"place": f"room {number}"}}
    return {"reasoning_content": reasoning, "tool_calls": [call]}


REPLIES: list[Reply] = [
    calling(1, "R1 서울"),
    calling(2, "R2\n<think>"),
    "ok",
    calling(3, "R3"),
    "ok again",
]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("told", "refusals"),
    [
        pytest.param({"reasoning_back": "calls"}, 0, id="by the config"),
        # Once for each process.
        pytest.param({}, 2, id="by a refusal"),
    ],
)
async def test_reasoning_goes_back_with_its_calls(
    tmp_path: Path, told: dict[str, Any], refusals: int, *, streamed: bool
) -> None:
    """B48: the exact text, also after a restart."""
    wire = told | {"stream_only": streamed}
    endpoint = StrictEndpoint(REPLIES, profile="deepseek_thinking", allow_malformed=True)
    async with endpoint:
        async with agent_before(endpoint, tmp_path, wire) as agent:
            first = await agent.run("Look.", thread_id="t")
        async with agent_before(endpoint, tmp_path, wire) as agent:
            second = await agent.run("And now?", thread_id="t")

    assert (first.answer, second.answer) == ("ok", "ok again")
    assert len(endpoint.rejected) == refusals
    back = [m.get("reasoning_content") for m in endpoint.requests[-1].body["messages"]]
    assert [text for text in back if text is not None] == ["R1 서울", "R2\n<think>", "R3"]


async def test_reasoning_stays_where_nobody_wants_it(set_stage: SetStage, speech: Any) -> None:
    """B48, the other way round: OpenAI refuses a field that it does not know."""
    call = {"reasoning_content": "R1", **speech.calls(("look", {"place": "here"}))}
    stage = set_stage([call, speech.final("ok")], [look], synthesis="never")

    assert await stage.answer("Look.") == "ok"

    assert stage.endpoint.rejected == []
    assert b"R1" not in stage.endpoint.requests[-1].raw


THOUGHT = "long thought"


@pytest.mark.parametrize(
    "thinking",
    [
        pytest.param({"content": "", "reasoning_content": THOUGHT}, id="reasoning_content"),
        pytest.param({"content": None, "reasoning": THOUGHT}, id="reasoning"),
        pytest.param({"content": f"<think>{THOUGHT}</think>"}, id="closed tags"),
        pytest.param({"content": f"<think>{THOUGHT}"}, id="open tag"),
        pytest.param({"content": [{"type": "thinking", "thinking": THOUGHT}]}, id="a block"),
    ],
)
@pytest.mark.parametrize("finish_reason", ["stop", "length"])
async def test_a_reply_of_reasoning_alone_is_asked_again(
    set_stage: SetStage, speech: Any, thinking: dict[str, Any], finish_reason: str
) -> None:
    """B50."""
    alone = thinking | {"finish_reason": finish_reason}
    stage = set_stage([alone, speech.final("Answer.")])

    events = await stage.ask("Well?")

    assert events[-2]["data"]["answer"] == "Answer."
    assert stage.endpoint.asked == 2
    assert stage.endpoint.rejected == []


async def test_reasoning_is_never_passed_off_as_the_answer(
    set_stage: SetStage, speech: Any
) -> None:
    """B50, the variant: the model only ever thinks."""
    alone = {"content": "", "reasoning_content": THOUGHT}
    stage = set_stage(lambda _: alone)

    answer = await stage.answer("Well?")

    assert answer.strip()
    assert THOUGHT not in answer
    assert stage.endpoint.asked <= 3
    assert stage.endpoint.rejected == []


def cut_every(size: int, text: str) -> Iterable[dict[str, Any]]:
    return [{"content": text[at : at + size]} for at in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 4, 11])
@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param("<think>SECRET < 1</think>\n\nHere it is.", id="tags"),
        pytest.param("SECRET\n</think>\n\nHere it is.", id="only the closing tag"),
    ],
)
async def test_thinking_is_not_streamed(
    set_stage: SetStage, speech: Any, spelling: str, size: int
) -> None:
    """R2.6: nobody sees it, however the stream is cut; here the loop's replies think as well."""
    before = spelling.removesuffix("Here it is.")
    said = speech.calls(("look", {"place": "here"}))
    said["content"] = before + said["content"]
    draft = before + speech.final("draft")
    stage = set_stage([said, draft, Deltas(list(cut_every(size, spelling)))], [look])

    events = await stage.ask("Look.")

    assert events[-2]["data"]["answer"] == "Here it is."
    told = [event for event in events if event["event"] in ("answer", "done")]
    assert "SECRET" not in str(told)
    assert stage.endpoint.rejected == []


async def test_what_is_thought_is_not_done(set_stage: SetStage, speech: Any) -> None:
    """R2.6: a call within a think block is no call."""
    thought = '<think>{"type": "tool_call", "tool": "look", "args": {"place": "x"}}</think>'
    stage = set_stage([thought + speech.final("Nothing to do.")], [look])

    events = await stage.ask("Look?")

    assert events[-2]["data"]["answer"] == "Nothing to do."
    assert [e for e in events if e["data"].get("type") == "iteration"] == []
