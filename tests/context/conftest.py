"""Threads to look at, and runs far longer than a window before an endpoint that holds to it."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AnyMessage

from graph_agent import ModelRegistry, ReActAgent, Settings
from graph_agent.events import WireEvent
from graph_agent.models.spec import ModelSpec
from graph_agent.prompts import SUMMARIZE, SYNTHESIS_SYSTEM
from graph_agent.state import AgentState, Turn
from graph_agent.testing import StrictEndpoint, check_events
from graph_agent.testing.recorded import Recorded

MakeState = Callable[..., AgentState]
Messages = list[dict[str, Any]]
WINDOW = 8_192
REPLY = 1_024
"""Tokens of the reply, which the endpoint keeps free as vLLM does: a prompt may take the rest."""


@pytest.fixture(scope="session")
def make_state() -> MakeState:
    """Make a thread whose run answers the message at `start`."""

    def make(messages: Sequence[AnyMessage], start: int = 0, **fields: Any) -> AgentState:
        turn = Turn(run_id="r", start=start, started_at=0.0)
        return AgentState(messages=list(messages), turn=turn, **fields)

    return make


@dataclass
class Reader:
    """A model that reads page after page; it knows only what it is sent."""

    speech: Any
    pages: int
    """How many replies call the tool before one answers."""
    fact: str = "nothing"
    """What it looks for."""
    at_once: int = 1
    """Calls in one reply."""
    sums_up: Callable[[str], Any] | None = None
    """Answers a request to sum up, from its text; None keeps the fact where it is told."""
    replies: int = 0
    summaries: list[int] = field(default_factory=list)
    """For each request to sum up, how many replies there had been."""

    async def __call__(self, body: dict[str, Any]) -> Any:
        told = str(body["messages"][-1]["content"])
        match body["messages"][0]["content"]:
            case system if system in SUMMARIZE.values():
                self.summaries.append(self.replies)
                return self.sums_up(told) if self.sums_up else "Pages were read. " + self._in(told)
            case system if system == SYNTHESIS_SYSTEM:
                return self._in(told)
        self.replies += 1
        if self.replies > self.pages:
            return self.speech.final(self._in(json.dumps(body["messages"], ensure_ascii=False)))
        first = self.at_once * (self.replies - 1) + 1
        return self.speech.calls(
            *(("read", {"page": page}) for page in range(first, first + self.at_once))
        )

    def _in(self, text: str) -> str:
        return self.fact if self.fact in text else "Unknown."


@dataclass
class LongRun:
    """A run that is over: what it told, and what it asked."""

    events: list[WireEvent]
    endpoint: StrictEndpoint
    model: Reader

    @property
    def done(self) -> dict[str, Any]:
        assert self.events[-2]["event"] == "done", self.events[-2]
        return self.events[-2]["data"]

    @property
    def _of_the_loop(self) -> list[Recorded]:
        inner = {*SUMMARIZE.values(), SYNTHESIS_SYSTEM}
        requests = self.endpoint.requests
        return [r for r in requests if r.body["messages"][0]["content"] not in inner]

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The bodies of the loop's requests."""
        return [request.body for request in self._of_the_loop]

    @property
    def sizes(self) -> list[int]:
        """The tokens of the loop's requests."""
        return [request.tokens for request in self._of_the_loop]

    @property
    def compacted(self) -> list[bool]:
        """For each request of the loop, whether a compaction was told right before it."""
        told = [False]
        for event in self.events:
            if event["event"] == "compact":
                told[-1] = True
            elif event["data"].get("type") == "thinking" and event["data"]["status"] == "start":
                told.append(False)
        return told[:-1]

    def pages_shown(self, number: int) -> list[int]:
        """The pages whose calls a request of the loop holds."""
        return [page for page, _ in calls_and_results(self.asked[number]["messages"])]

    def check(self, question: str) -> None:
        """Assert what holds for every run, whatever its tools and its summariser do."""
        check_events(self.events)
        refused = [r for r in self.endpoint.requests if r.rejected is not None]
        assert [(r.body["messages"][0]["content"][:40], r.tokens) for r in refused] == []
        assert max(request.tokens for request in self.endpoint.requests) <= WINDOW - REPLY
        for body in self.asked:
            first = next(m["content"] for m in body["messages"] if m["role"] == "user")
            assert first.startswith(question)
            pages = calls_and_results(body["messages"])
            assert [page for page, result in pages if result.split()[0] != str(page)] == []
        assert self.unexplained() == []

    def unexplained(self) -> list[int]:
        """The loop's requests that do not start with the one before, without a compaction."""
        steps = zip(pairwise(self.asked), self.compacted[1:], strict=True)
        return [
            number
            for number, ((before, after), compacted) in enumerate(steps, 1)
            if not compacted and not _extends(before, after)
        ]


def _extends(before: dict[str, Any], after: dict[str, Any]) -> bool:
    shared = after["messages"][: len(before["messages"])]
    return after | {"messages": shared} == before


def calls_and_results(messages: Messages) -> list[tuple[int, str]]:
    """The page of each call that is shown, and the result right behind it; none stands alone."""
    found: list[tuple[int, str]] = []
    calls: list[int] = []
    for message in [*messages, {"role": "end", "content": ""}]:
        results = _results(message)
        assert len(results) <= len(calls)
        found += zip(calls, results, strict=False)
        calls = calls[len(results) :]
        if message["role"] != "tool":
            assert calls == []
            calls = _calls(message)
    return found


def _results(message: dict[str, Any]) -> list[str]:
    content: str = message["content"]
    if message["role"] == "user":
        return content.split("Observation: ")[1:]
    return [content] if message["role"] == "tool" else []


def _calls(message: dict[str, Any]) -> list[int]:
    if message["role"] != "assistant":
        return []
    native = [call["function"]["arguments"] for call in message.get("tool_calls", [])]
    lines = (message["content"] or "").splitlines()
    written = [json.loads(line) for line in lines if line.startswith("{")]
    return [json.loads(arguments)["page"] for arguments in native] + [
        action["args"]["page"] for action in written if action["type"] == "tool_call"
    ]


@pytest.fixture
def long_run(speech: Any, true_tokens: Callable[..., int]) -> Callable[..., Any]:
    """Run a `Reader` in a window of 8,192 tokens that the endpoint holds to.

    It calls for `pages` replies; the endpoint counts `counts` times what its tokenizer does.
    """

    async def run(
        page: Callable[[int], str | Awaitable[str]],
        question: str,
        *,
        pages: int,
        counts: float = 1.0,
        settings: dict[str, Any] | None = None,
        during: Callable[[ReActAgent, WireEvent], Any] | None = None,
        **reader: Any,
    ) -> LongRun:
        async def read(page: int) -> str:
            """Read a page.

            Args:
                page: Its number.
            """
            text = text_of(page)
            return text if isinstance(text, str) else await text

        text_of = page
        model = Reader(speech, pages, **reader)

        def count(body: dict[str, Any]) -> int:
            return int(counts * true_tokens(body))

        with StrictEndpoint(model, context_limit=WINDOW - REPLY, count=count) as endpoint:
            spec = ModelSpec(
                model="fake",
                base_url=endpoint.base_url,
                context_size=WINDOW,
                max_output_tokens=REPLY,
            )
            chosen: dict[str, Any] = {
                "database": "memory:",
                "max_iterations": pages + 1,
                "max_retries": 0,
                "use_native_tools": speech.mode == "native",
                "tool_concurrency": 50,
                "self_reflection_interval": 0,
                "completion_check_min_tools": 0,
                **(settings or {}),
            }
            models = ModelRegistry({"fake": spec}, settings=Settings(**chosen), environ={})
            async with ReActAgent("fake", [read], models=models, **chosen) as agent:
                events = []
                async for event in agent.stream(question, thread_id="thread"):
                    events.append(event)
                    if during is not None:
                        await during(agent, event)
        return LongRun(events, endpoint, model)

    return run
