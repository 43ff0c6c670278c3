"""The graph's sync methods, and the agent's, from scripts and from several threads."""

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from graph_agent import ConfigError, ReActAgent, build_graph
from graph_agent.testing import ScriptedChatModel, StrictEndpoint, check_events

CONFIG = RunnableConfig(configurable={"thread_id": "t"})


def texts(state: Any) -> list[str]:
    return [message.text for message in state["messages"]]


def test_the_graph_is_used_from_sync_code_like_any_other() -> None:
    model = ScriptedChatModel(replies=["one", "two", "three"])
    graph = build_graph(model, checkpointer=InMemorySaver())

    invoked = graph.invoke({"messages": [HumanMessage("a")]}, CONFIG)
    parts = list(graph.stream({"messages": [HumanMessage("b")]}, CONFIG, stream_mode="custom"))
    state = graph.get_state(CONFIG)
    oldest = [*graph.get_state_history(CONFIG)][-1]
    graph.update_state(CONFIG, {"messages": [AIMessage("changed", id="added")]})

    assert (texts(invoked), invoked["answer"]) == (["a", "one"], "one")
    check_events(parts)
    assert texts(state.values) == ["a", "one", "b", "two"]
    assert (state.next, oldest.next) == ((), ("__start__",))
    assert texts(graph.get_state(CONFIG).values)[-1] == "changed"


def test_an_error_comes_out_as_it_is() -> None:
    graph = build_graph(ScriptedChatModel(replies=[]))

    with pytest.raises(ConfigError, match="There is no question"):
        graph.invoke({"messages": []})


def test_two_threads_use_one_agent_at_once(tmp_path: Path) -> None:
    both = threading.Barrier(2)

    def meet() -> str:
        """Wait for the other."""
        both.wait(10)
        return "met"

    call = {"id": "c1", "name": "meet", "args": {}, "type": "tool_call"}

    def reply(messages: list[Any]) -> AIMessage | str:
        if messages[-1].type == "tool":
            return f"answer to {messages[1].text}"
        return AIMessage("", tool_calls=[call])

    model = ScriptedChatModel(replies=[reply] * 4)
    database = f"sqlite:///{tmp_path}/t.sqlite"
    agent = ReActAgent(model, [meet], database=database, synthesis="never")

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda text: agent.run_sync(text).answer, ["one", "two"]))
    agent.close()

    assert answers == ["answer to one", "answer to two"]


def test_a_stream_is_read_and_left_in_sync_code() -> None:
    agent = ReActAgent(ScriptedChatModel(replies=["yes"] * 3), database="memory:")

    events = list(agent.stream_sync("Hi", thread_id="t"))
    left = agent.stream_sync("Hi", thread_id="t")
    next(left)
    left.close()
    again = agent.run_sync("Hi", thread_id="t")
    agent.close()

    check_events(events)
    assert again.answer == "yes"


SCRIPT = """
from graph_agent import ModelRegistry, ReActAgent, Settings, build_graph
from graph_agent.models.spec import ModelSpec
import sys

base_url, database = sys.argv[1:]
spec = {"fake": ModelSpec(model="fake", base_url=base_url)}
models = ModelRegistry(spec, settings=Settings(), environ={})
agent = ReActAgent("fake", models=models, database=database)
print(agent.run_sync("Hi", thread_id="t").answer)
print(build_graph("fake", models=models).invoke({"messages": ["Hi"]})["answer"])
abandoned = agent.stream_sync("Hi", thread_id="u")
print(next(abandoned)["event"])
"""


def test_a_script_that_closes_nothing_ends_quietly(tmp_path: Path) -> None:
    with StrictEndpoint(lambda _: "Hello!") as endpoint:
        command = [sys.executable, "-c", SCRIPT, endpoint.base_url]
        done = subprocess.run(
            [*command, f"sqlite:///{tmp_path}/t.sqlite"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )

    assert (done.stdout, done.returncode) == ("Hello!\nHello!\nstep\n", 0)
    assert done.stderr == ""


INTERRUPTED = """
import asyncio, sys
from langchain_core.messages import AIMessage
from graph_agent import ReActAgent
from graph_agent.testing import ScriptedChatModel

async def wait() -> None:
    '''Wait.'''
    print("waiting", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        print("stopped")

call = {"id": "c1", "name": "wait", "args": {}, "type": "tool_call"}
model = ScriptedChatModel(replies=[AIMessage("", tool_calls=[call]), "Here."])
agent = ReActAgent(model, [wait], database=sys.argv[1])
try:
    agent.run_sync("Go", thread_id="t")
except KeyboardInterrupt:
    print(agent.run_sync("Still there?", thread_id="t").answer)
print([message.type for message in model.asked[-1].messages])
"""


def test_ctrl_c_cancels_the_run_and_the_thread_goes_on(tmp_path: Path) -> None:
    script = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, f"sqlite:///{tmp_path}/t.sqlite"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert script.stdout is not None
    assert script.stdout.readline() == "waiting\n"

    script.send_signal(signal.SIGINT)
    out, err = script.communicate(timeout=20)

    assert (script.returncode, err) == (0, "")
    assert out == "stopped\nHere.\n['system', 'human', 'ai', 'tool', 'human']\n"
