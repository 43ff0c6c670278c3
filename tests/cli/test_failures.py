"""Each kind of failure: one clear line, its exit code, no traceback."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from graph_agent.backends import open_backend
from graph_agent.testing import HttpError, StrictEndpoint, check_events

RunCli = Callable[..., Result]
EventsIn = Callable[[str], list[dict[str, Any]]]


@pytest.fixture
def refusing() -> Iterator[str]:
    """An address at which nobody listens, and where nobody will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def failed(result: Result, code: int, *parts: str) -> None:
    """Check that one line on stderr tells it all."""
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert [part for part in parts if part not in result.stderr] == []


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        pytest.param(
            HttpError(status=401, message="Incorrect API key."),
            ("refused the key (401)", "Check the environment variable"),
            id="wrong key",
        ),
        pytest.param(
            HttpError(status=404, message="The model `x` does not exist."),
            ("does not know the model", "graph-agent models"),
            id="unknown to the endpoint",
        ),
        pytest.param(HttpError(status=500, message="one\n\x1b[31mtwo"), ("500",), id="broken"),
        pytest.param(
            HttpError(status=400, message="no", code="context_length_exceeded"),
            ("does not fit",),
            id="too long",
        ),
    ],
)
def test_a_failing_endpoint(cli: RunCli, reply: HttpError, parts: tuple[str, ...]) -> None:
    with StrictEndpoint(lambda _: reply) as endpoint:
        result = cli("ask", "Hi", endpoint=endpoint)

    failed(result, 4, *parts)
    assert "\x1b" not in result.stderr


def test_no_endpoint(cli: RunCli, refusing: str) -> None:
    result = cli("ask", "Hi", OPENAI_BASE_URL=refusing, OPENAI_API_KEY="key")

    failed(result, 4, "cannot be reached", "base_url")


def test_a_failing_endpoint_in_json(cli: RunCli, events_in: EventsIn) -> None:
    with StrictEndpoint(api_key="right") as endpoint:
        result = cli("ask", "Hi", "--json", endpoint=endpoint)

    events = events_in(result.stdout)
    check_events(events)
    assert result.exit_code == 4
    assert [event["event"] for event in events] == ["step", "step", "error", "end"]
    assert events[2]["data"]["code"] == "model_refused"
    assert result.stderr == f"error: {events[2]['data']['message']}\n"


FILES = {
    "broken": "[agent\n",
    "setting": "[agent]\nmax_iteration = 3\n",
    "table": "[agents]\n",
    "model": "[models.main]\nmodle = 'x'\n",
}


@pytest.mark.parametrize(
    ("options", "environ", "parts"),
    [
        pytest.param(["--config", "broken"], {}, ("broken", "no valid TOML"), id="broken TOML"),
        pytest.param(["--config", "setting"], {}, ("`max_iteration`",), id="unknown setting"),
        pytest.param(["--config", "table"], {}, ("table", "`agents`"), id="unknown table"),
        pytest.param(["--config", "model"], {}, ("`models.main.modle`",), id="unknown key"),
        pytest.param(["--config", "none"], {}, ("none", "cannot be read"), id="missing file"),
        pytest.param(
            [],
            {"GRAPH_AGENT_MAX_ITERATION": "3"},
            ("GRAPH_AGENT_MAX_ITERATION",),
            id="misspelt variable",
        ),
        pytest.param([], {"GRAPH_AGENT_CONFIG": "none"}, ("none",), id="missing file, variable"),
        pytest.param(["--model", "nope"], {}, ("no model `nope`",), id="unknown model"),
        pytest.param(
            ["--model", "openai:x"], {}, ("OPENAI_API_KEY",), id="a model without its key"
        ),
        pytest.param(
            ["--database", "mysql://x"], {"OPENAI_API_KEY": "k"}, ("mysql",), id="unknown database"
        ),
    ],
)
@pytest.mark.parametrize("json", [False, True], ids=["plain", "json"])
def test_a_wrong_configuration(
    cli: RunCli,
    events_in: EventsIn,
    options: list[str],
    environ: dict[str, str],
    parts: tuple[str, ...],
    json: bool,
) -> None:
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")

    result = cli("ask", "Hi", *options, *(["--json"] if json else []), **environ)

    if not json:
        failed(result, 2, *parts)
        return
    events = events_in(result.stdout)
    check_events(events)
    assert [event["event"] for event in events] == ["error", "end"]
    assert result.exit_code == 2
    assert result.stderr == f"error: {events[0]['data']['message']}\n"


@pytest.mark.parametrize(
    ("args", "part"),
    [
        pytest.param(["ask", "  "], "empty", id="empty question"),
        pytest.param(["resume", "nope"], "no thread nope", id="resume nothing"),
        pytest.param(["interrupt", "nope", "Hi"], "no thread nope", id="interrupt nothing"),
        pytest.param(["interrupt", "nope", " "], "empty", id="empty interrupt"),
    ],
)
def test_a_wrong_call(cli: RunCli, args: list[str], part: str) -> None:
    failed(cli(*args, OPENAI_API_KEY="key"), 2, part)


@pytest.mark.parametrize("args", [["ask"], ["nope"], ["ask", "Hi", "--nope"]], ids="/".join)
def test_a_usage_error(cli: RunCli, args: list[str]) -> None:
    result = cli(*args)

    assert (result.exit_code, result.stdout) == (2, "")
    assert "Usage: " in result.stderr


def test_a_busy_thread(cli: RunCli, tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        backend = runner.run(open_backend(f"sqlite:///{tmp_path / 'threads.sqlite'}"))
        lease = backend.leases.hold("t")
        runner.run(_coroutine(lease.__aenter__()))
        result = cli("ask", "Hi", "--thread", "t", OPENAI_API_KEY="key")
        runner.run(_coroutine(lease.__aexit__(None, None, None)))
        runner.run(_coroutine(backend.close()))

    failed(result, 2, "Thread t is busy")


async def _coroutine(work: Awaitable[object]) -> object:
    return await work
