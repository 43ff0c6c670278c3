"""Group C: calls and their results stay together, whatever comes between."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph_agent.prompts import CALL_CANCELLED
from graph_agent.testing import StrictEndpoint

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]


class Slow:
    """A tool that waits until the test lets it go on."""

    def __init__(self, calls: int = 1) -> None:
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()
        self._left = calls

    async def wait(self, n: int = 1) -> str:
        """Wait.

        Args:
            n: Any number.
        """
        self._left -= 1
        if self._left == 0:
            self.started.set()
        await self.go_on.wait()
        return "R"


def after_the_call(sent: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """What a request says behind its first call."""
    first = next(number for number, (role, _) in enumerate(sent) if role == "assistant")
    return sent[first + 1 :]


async def test_after_a_cancel_within_a_tool_the_next_question_is_answered(
    set_stage: SetStage, speech: Any
) -> None:
    """B37."""
    slow = Slow()
    stage = set_stage([speech.calls(("wait", {})), speech.final("answer 2")], [slow.wait])

    run = asyncio.create_task(stage.ask("q1"))
    await slow.started.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)

    assert await stage.answer("q2") == "answer 2"
    native = [("tool", CALL_CANCELLED), ("user", "q2")]
    json = [("user", f"Observation: {CALL_CANCELLED}\n\nq2")]
    sent = after_the_call(stage.sent(1))
    assert sent == (native if speech.mode == "native" else json)
    assert stage.endpoint.rejected == []


KILLED = """
import asyncio, sys
from graph_agent import ModelRegistry, ReActAgent, Settings
from graph_agent.models.spec import ModelSpec

async def wait() -> str:
    '''Wait.'''
    print("waiting", flush=True)
    await asyncio.Event().wait()

async def main(base_url, database, native):
    spec = {"fake": ModelSpec(model="fake", base_url=base_url)}
    models = ModelRegistry(spec, settings=Settings(), environ={})
    settings = {"durability": "sync", "use_native_tools": native == "native"}
    agent = ReActAgent("fake", [wait], models=models, database=database, **settings)
    await agent.run("q1", thread_id="thread")

asyncio.run(main(*sys.argv[1:]))
"""


async def test_after_the_process_is_killed_within_a_tool_another_goes_on(
    set_stage: SetStage, speech: Any, tmp_path: Path
) -> None:
    """B37."""
    database = f"sqlite:///{tmp_path}/t.sqlite"
    stage = set_stage([speech.final("answer 2")], [Slow().wait], database=database)

    with StrictEndpoint([speech.calls(("wait", {}))]) as endpoint:
        killed = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", KILLED, endpoint.base_url, database, speech.mode),
            stdout=asyncio.subprocess.PIPE,
        )
        assert killed.stdout is not None
        assert await killed.stdout.readline() == b"waiting\n"
        killed.kill()
        await killed.wait()

    assert await stage.answer("q2") == "answer 2"
    assert CALL_CANCELLED in str(after_the_call(stage.sent(0))[0])
    assert stage.endpoint.rejected == []


@pytest.mark.parametrize("lines", [20, 33, 50, 71])
async def test_no_cut_falls_between_a_call_and_its_results(
    set_stage: SetStage, speech: Any, lines: int
) -> None:
    """B39: results of other sizes put the cuts elsewhere."""

    def read(page: int) -> str:
        """Read.

        Args:
            page: Its number.
        """
        return f"{page} " + "Much ado about nothing, and more.\n" * (lines + page % 3)

    single = [speech.calls(("read", {"page": page})) for page in range(20)]
    several = [
        speech.calls(("read", {"page": page}), ("read", {"page": page + 1}))
        for page in range(20, 40, 2)
    ]
    stage = set_stage(
        [*single, *several, speech.final("done")],
        [read],
        context_size=4_400,
        max_output_tokens=400,
        compaction="trim",
        synthesis="never",
    )

    events = await stage.ask("q")

    assert events[-2]["data"]["answer"] == "done"
    assert [event["event"] for event in events].count("compact") > 1
    assert stage.endpoint.rejected == []


async def test_a_message_while_tools_run_comes_behind_their_results(
    set_stage: SetStage, speech: Any
) -> None:
    """B41."""
    slow = Slow(calls=2)
    calls = speech.calls(("wait", {"n": 1}), ("wait", {"n": 2}))
    stage = set_stage([calls, speech.final("changed plan")], [slow.wait], synthesis="never")

    run = asyncio.create_task(stage.answer("q"))
    await slow.started.wait()
    await stage.agent.interrupt("thread", "stop, do X instead")
    slow.go_on.set()

    assert await run == "changed plan"
    added = "[USER INTERRUPT]\nstop, do X instead"
    native = [("tool", "R"), ("tool", "R"), ("user", added)]
    json = [("user", f"Observation: R\n\nObservation: R\n\n{added}")]
    sent = after_the_call(stage.sent(1))
    assert sent == (native if speech.mode == "native" else json)
    assert stage.endpoint.rejected == []
