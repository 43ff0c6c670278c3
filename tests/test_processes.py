"""Threads across processes: they outlive them, and belong to one at a time."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from graph_agent import ReActAgent, ThreadBusyError
from graph_agent.testing import ScriptedChatModel, StrictEndpoint

pytestmark = pytest.mark.anyio


def run_python(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


ONE_TURN = """
import asyncio, sys
from graph_agent import ModelRegistry, ReActAgent, Settings
from graph_agent.models.spec import ModelSpec

async def main(base_url, database, message):
    spec = {"fake": ModelSpec(model="fake", base_url=base_url)}
    models = ModelRegistry(spec, settings=Settings(), environ={})
    async with ReActAgent("fake", models=models, database=database) as agent:
        print((await agent.run(message, thread_id="t")).answer)

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_thread_outlives_its_process(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/t.sqlite"

    with StrictEndpoint(["Hello Ada.", "Ada."]) as endpoint:
        turns = ("My name is Ada.", "What is my name?")
        answers = [run_python(ONE_TURN, endpoint.base_url, database, turn) for turn in turns]
        sent = endpoint.requests[1].body["messages"]

    assert answers == ["Hello Ada.", "Ada."]
    assert [(message["role"], message["content"]) for message in sent[1:]] == [
        ("user", "My name is Ada."),
        ("assistant", "Hello Ada."),
        ("user", "What is my name?"),
    ]


HOLDER = """
import asyncio, sys
from langchain_core.messages import AIMessage
from graph_agent import ReActAgent
from graph_agent.testing import ScriptedChatModel

async def wait() -> str:
    '''Wait.'''
    print("holding", flush=True)
    await asyncio.Event().wait()

call = {"id": "c1", "name": "wait", "args": {}, "type": "tool_call"}
model = ScriptedChatModel(replies=[AIMessage("", tool_calls=[call])])
asyncio.run(ReActAgent(model, [wait], database=sys.argv[1]).run("Go", thread_id="t"))
"""


async def test_another_process_is_kept_out_until_the_holder_dies(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/t.sqlite"
    model = ScriptedChatModel(replies=["Other.", "After the crash."])
    async with ReActAgent(model, database=database) as agent:
        holder = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", HOLDER, database), stdout=asyncio.subprocess.PIPE
        )
        assert holder.stdout is not None
        assert await holder.stdout.readline() == b"holding\n"

        with pytest.raises(ThreadBusyError):
            await agent.run("Me too", thread_id="t")
        assert (await agent.run("Hi", thread_id="other")).answer == "Other."
        holder.kill()
        await holder.wait()
        result = await agent.run("Still there?", thread_id="t")

    assert result.answer == "After the crash."
    assert [message.type for message in model.asked[-1].messages] == [
        *("system", "human", "ai", "tool", "human")
    ]


STRICT = """
import asyncio, json, sys, warnings
warnings.simplefilter("error")
from langchain_core.messages import AIMessage
from graph_agent import ReActAgent
from graph_agent.testing import ScriptedChatModel

def look() -> dict:
    '''Look.'''
    return {"a": [1, None, 2.5], "b": "서울"}

call = {"id": "c1", "name": "look", "args": {}, "type": "tool_call"}

async def main(database):
    for script in ([AIMessage("", tool_calls=[call]), "draft", "Seen."], ["Again."]):
        model = ScriptedChatModel(replies=script)
        async with ReActAgent(model, [look], database=database) as agent:
            result = await agent.run("Hi", thread_id="t")
    print(json.dumps([message.type for message in result.messages]))

asyncio.run(main(sys.argv[1]))
"""


def test_the_state_is_plain_data_that_opens_under_strict_msgpack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")

    told = run_python(STRICT, f"sqlite:///{tmp_path}/t.sqlite")

    assert json.loads(told) == ["system", "human", "ai", "tool", "ai", "human", "ai"]
