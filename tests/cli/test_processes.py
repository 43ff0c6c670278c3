"""What needs real processes: two in a row, signals, terminals, a server."""

import re
import signal
import socket
import subprocess
from collections.abc import Callable
from typing import Any, Protocol

import httpx
import pytest
from typer.testing import Result

from graph_agent.testing import Gate, Held, StrictEndpoint, check_events
from graph_agent.testing.replies import Reply

EventsIn = Callable[[str], list[dict[str, Any]]]
CALLS = {
    "tool_calls": [
        {"id": "1", "name": "calculator", "arguments": {"expression": "6*7"}},
        {"id": "2", "name": "no_such_tool", "arguments": {"text": "\x1b[2J"}},
    ]
}
EVIL = "# Result\n\nIt is **42**. \x1b]0;title\x07 [red]x[/red] <http://a/%1b]0;title%07> &#27;[2J"


class RunCli(Protocol):
    def __call__(self, *args: str, endpoint: StrictEndpoint | None = None) -> Result: ...

    def begin(
        self, *args: str, endpoint: StrictEndpoint | None = None
    ) -> "subprocess.Popen[str]": ...


class Terminal(Protocol):
    shown: str

    def type(self, keys: str) -> None: ...

    def interrupt(self) -> None: ...

    def wait_for(self, text: str) -> None: ...

    def wait_end(self) -> int: ...


OpenTerminal = Callable[..., Terminal]


def contents(endpoint: StrictEndpoint, request: int) -> list[str]:
    """Return what a request says after the system prompt."""
    return [message["content"] for message in endpoint.requests[request].body["messages"][1:]]


def test_a_second_process_goes_on_with_the_thread(cli: RunCli) -> None:
    with StrictEndpoint(["Hello, Ann.", "Ann."]) as endpoint:
        first = cli("ask", "I am Ann.", "--thread", "t", endpoint=endpoint)
        with cli.begin("ask", "Who am I?", "--thread", "t", endpoint=endpoint) as process:
            second = process.communicate()

    assert (first.exit_code, first.stdout) == (0, "Hello, Ann.\n")
    assert (process.returncode, second) == (0, ("Ann.\n", ""))
    assert contents(endpoint, 1) == ["I am Ann.", "Hello, Ann.", "Who am I?"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminated"])
def test_a_signal_cancels_the_run_and_keeps_the_thread(
    cli: RunCli, events_in: EventsIn, number: signal.Signals
) -> None:
    gate = Gate()
    with StrictEndpoint([Held(gate, "Never read."), "Still here."]) as endpoint:
        with cli.begin("ask", "One?", "--thread", "t", "--json", endpoint=endpoint) as process:
            gate.wait_reached(30)
            process.send_signal(number)
            output, errors = process.communicate()
        after = cli("ask", "Two?", "--thread", "t", endpoint=endpoint)

    events = events_in(output)
    check_events(events)
    assert process.returncode == 130
    assert [event["event"] for event in events] == ["step", "step", "error", "end"]
    assert events[2]["data"]["code"] == "cancelled"
    assert errors == "cancelled: `graph-agent resume t` goes on with it.\n"
    assert (after.exit_code, after.stdout) == (0, "Still here.\n")
    assert contents(endpoint, 1) == ["One?\n\nTwo?"]


def test_an_interrupt_reaches_the_run_of_another_process(cli: RunCli) -> None:
    gate = Gate()
    with StrictEndpoint([Held(gate, "At length."), "Brief."]) as endpoint:
        process = cli.begin("ask", "How?", "--thread", "t", endpoint=endpoint)
        gate.wait_reached()
        queued = cli("interrupt", "t", "Be brief.")
        gate.open()
        output, _ = process.communicate()

    assert (queued.exit_code, queued.stderr) == (0, "")
    assert (process.returncode, output) == (0, "Brief.\n")
    assert "Be brief." in contents(endpoint, 1)[-1]


def test_a_terminal_shows_calls_the_answer_and_the_thread(terminal: OpenTerminal) -> None:
    with StrictEndpoint([CALLS, "a draft", EVIL]) as endpoint:
        screen = terminal("ask", "6 * 7?", "--thread", "t", endpoint=endpoint)
        code = screen.wait_end()

    assert code == 0
    for part in (
        "thinking",
        '✓ \x1b[0mcalculator(expression="6*7")',
        "✗ \x1b[0mno_such_tool(text=",
        "There is no tool `no_such_tool`.",
        "\x1b[1m42\x1b[0m",
        "[red]x[/red]",
        "2 iterations · ",
        "thread t",
    ):
        assert part in screen.shown
    assert [evil for evil in ("\x1b]", "\x07", "\x1b[2J") if evil in screen.shown] == []


def test_chat_adds_what_is_typed_meanwhile_and_outlives_ctrl_c(terminal: OpenTerminal) -> None:
    first, second = Gate(), Gate()
    script: list[Reply] = [Held(first, "Long."), "Brief.", Held(second, "Never read."), "Three."]
    with StrictEndpoint(script) as endpoint:
        screen = terminal("chat", "--thread", "t", endpoint=endpoint)
        screen.wait_for("> ")
        screen.type("One?\n")
        first.wait_reached(30)
        screen.type("Be brief.\n")
        screen.wait_for("Be brief.")
        first.open()
        screen.wait_for("thread t")
        screen.wait_for("> ")
        screen.type("Two?\n")
        second.wait_reached(30)
        screen.interrupt()
        screen.wait_for("cancelled")
        screen.wait_for("> ")
        screen.type("Three?\n")
        screen.wait_for("Three.")
        screen.wait_for("> ")
        screen.type("\x04")
        code = screen.wait_end()

    assert code == 0
    assert "» Be brief." in screen.shown
    assert "Be brief." in contents(endpoint, 1)[-1]
    assert contents(endpoint, 3)[-1] == "Two?\n\nThree?"


def test_serve_says_when_it_answers_and_ends_its_runs_when_told(cli: RunCli) -> None:
    gate = Gate()
    with (
        StrictEndpoint([Held(gate, "Never read.")]) as endpoint,
        cli.begin("serve", "--port", "0", "--model", "m", endpoint=endpoint) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline()
        with httpx.Client(base_url=line.split()[4], trust_env=False, timeout=30) as client:
            health = client.get("/healthz").json()
            thread = client.post("/api/threads").json()["thread_id"]
            with client.stream(
                "POST", f"/api/threads/{thread}/runs", json={"message": "Hi"}
            ) as run:
                gate.wait_reached(30)
                process.send_signal(signal.SIGINT)
                told = run.read().decode()
        rest = process.communicate()

    assert line.startswith("graph-agent is running at http://127.0.0.1:")
    assert line.endswith(" (model: m)\n")
    assert health == {"status": "ok"}
    assert re.findall("^event: (.*)$", told, re.MULTILINE)[-2:] == [
        "error",
        "end",
    ]
    assert (rest, process.returncode) == (("", ""), 130)


def test_serve_says_that_a_port_is_taken(cli: RunCli) -> None:
    with StrictEndpoint() as endpoint, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = cli("serve", "--port", str(port), endpoint=endpoint)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: The server cannot listen on 127.0.0.1, port {port}: ")
    assert result.stderr.count("\n") == 1


def test_serve_refuses_to_be_reached_from_elsewhere(cli: RunCli) -> None:
    result = cli("serve", "--host", "0.0.0.0")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "--no-auth" in result.stderr
