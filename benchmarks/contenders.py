"""CPU time of an iteration over whole runs: ours beside loops that others write.

Run `python benchmarks/contenders.py [ROUNDS]`: interleaved rounds before one zero-latency endpoint
in a process of its own; one tool call with a result of 2 kB an iteration, native mode; medians and
ratios as a Markdown table. Each process measures one contender and one length, after a run that
warms it up.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LENGTHS = (10, 50, 200)
"""Iterations of a run."""
ROUNDS = 5
RESULT = "x" * 2_000
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Return two kilobytes.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
        },
    },
}
QUESTION = {"role": "user", "content": "Go"}


def look(number: int) -> str:
    """Return two kilobytes.

    Args:
        number: Makes each call another one.
    """
    return f"{number} {RESULT}"


def result_of(call: dict[str, Any]) -> dict[str, Any]:
    """Run a call that came by the API."""
    args = json.loads(call["function"]["arguments"])
    return {"role": "tool", "tool_call_id": call["id"], "content": look(**args)}


async def raw_httpx(url: str, folder: Path) -> None:
    """Post the whole history by httpx; nothing is saved."""
    import httpx

    messages: list[Any] = [QUESTION]
    async with httpx.AsyncClient() as client:
        while True:
            body = {"model": "m", "messages": messages, "tools": [TOOL]}
            answer = await client.post(f"{url}/chat/completions", json=body)
            reply = answer.json()["choices"][0]["message"]
            messages.append(reply)
            if not reply.get("tool_calls"):
                return
            messages += map(result_of, reply["tool_calls"])


async def sdk(url: str, folder: Path) -> None:
    """Loop over OpenAI's client; nothing is saved."""
    await _sdk(url, lambda messages: {"messages": messages})


async def sdk_bypass(url: str, folder: Path) -> None:
    """Loop over OpenAI's client, with messages passed by its validation; nothing is saved."""
    await _sdk(url, lambda messages: {"messages": [], "extra_body": {"messages": messages}})


async def _sdk(url: str, given: Callable[[list[Any]], dict[str, Any]]) -> None:
    import openai

    messages: list[Any] = [QUESTION]
    async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client:
        while True:
            answer = await client.chat.completions.create(
                model="m", tools=[TOOL], **given(messages)
            )
            reply = answer.choices[0].message.model_dump(exclude_none=True)
            messages.append(reply)
            if not reply.get("tool_calls"):
                return
            messages += map(result_of, reply["tool_calls"])


async def create_agent_sqlite(url: str, folder: Path) -> None:
    """LangChain's agent, every step saved in SQLite."""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    model = ChatOpenAI(model="m", base_url=url, api_key="k", max_retries=0)
    async with AsyncSqliteSaver.from_conn_string(str(folder / "theirs.sqlite")) as saver:
        agent = create_agent(model, [look], checkpointer=saver)
        config = {"configurable": {"thread_id": "t"}, "recursion_limit": 10_000}
        await agent.ainvoke({"messages": [QUESTION]}, config)


async def ours_memory(url: str, folder: Path) -> None:
    """Ours, every step kept in memory, all nodes and events on."""
    await _ours(url, "memory:")


async def ours_sqlite(url: str, folder: Path) -> None:
    """Ours, every step saved in SQLite, all nodes and events on."""
    await _ours(url, f"sqlite:///{folder}/ours.sqlite")


async def _ours(url: str, database: str) -> None:
    from graph_agent import ModelRegistry, ReActAgent
    from graph_agent.models.spec import ModelSpec

    models = ModelRegistry({"m": ModelSpec(model="m", base_url=url)})
    async with ReActAgent(
        "m",
        [look],
        models=models,
        database=database,
        max_iterations=1_000,
        context_size=1_000_000,
        synthesis="never",  # the others make no call for it
        completion_check_min_tools=0,
    ) as agent:
        async for _ in agent.stream("Go", thread_id="t"):
            pass


CONTENDERS: dict[str, Callable[[str, Path], Awaitable[None]]] = {
    "raw httpx": raw_httpx,
    "SDK": sdk,
    "SDK, bypass": sdk_bypass,
    "create_agent + SQLite": create_agent_sqlite,
    "ours, memory": ours_memory,
    "ours, SQLite": ours_sqlite,
}


def serve() -> None:
    """Be the endpoint: each connection's first request with one message begins a run anew."""
    from graph_agent.testing import StrictEndpoint

    async def reply(body: dict[str, Any]) -> Any:
        done = sum(message["role"] == "tool" for message in body["messages"])
        if done >= length:
            return "done"
        call = {"id": f"c{done}", "name": "look", "arguments": {"number": done}}
        return {"content": "", "tool_calls": [call]}

    length = int(sys.argv[2])
    with StrictEndpoint(reply, profile="lenient", keep=1) as endpoint:
        print(endpoint.base_url, flush=True)
        sys.stdin.read()


@contextmanager
def endpoint_process(length: int) -> Iterator[str]:
    """Start the endpoint and give its address."""
    command = [sys.executable, __file__, "serve", str(length)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as it:
        yield it.stdout.readline().strip()
        it.stdin.close()


def measure() -> None:
    """Measure one contender, in a process of its own; prints CPU ms an iteration, and bytes."""
    name, length = sys.argv[2], int(sys.argv[3])
    with tempfile.TemporaryDirectory() as warm, tempfile.TemporaryDirectory() as folder:
        with endpoint_process(2) as url:
            asyncio.run(CONTENDERS[name](url, Path(warm)))
        with endpoint_process(length) as url:
            cpu = time.process_time()
            asyncio.run(CONTENDERS[name](url, Path(folder)))
            cpu = time.process_time() - cpu
        size = sum(f.stat().st_size for f in Path(folder).rglob("*sqlite*") if f.is_file())
    print(json.dumps([1000 * cpu / length, size / 1e6]))


def main() -> None:
    """Measure in interleaved rounds and print the medians, and ratios to the bare SDK."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    figures: dict[tuple[str, int], list[list[float]]] = {}
    for _ in range(rounds):
        for length in LENGTHS:
            for name in CONTENDERS:
                command = [sys.executable, __file__, "measure", name, str(length)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                figures.setdefault((name, length), []).append(json.loads(done.stdout))
    medians = {
        key: [statistics.median(column) for column in zip(*found, strict=True)]
        for key, found in figures.items()
    }
    heads = " | ".join(f"{length}, ms | to SDK" for length in LENGTHS)
    print(f"| loop | {heads} | MB at {LENGTHS[-1]} |\n|---|{'--:|' * (2 * len(LENGTHS) + 1)}")
    for name in CONTENDERS:
        cpu = [(medians[name, length][0], medians["SDK", length][0]) for length in LENGTHS]
        cells = " | ".join(f"{ours:.1f} | {ours / theirs:.2f}" for ours, theirs in cpu)
        print(f"| {name} | {cells} | {medians[name, LENGTHS[-1]][1]:.1f} |")


if __name__ == "__main__":
    {"serve": serve, "measure": measure}.get(sys.argv[1] if sys.argv[1:] else "", main)()
