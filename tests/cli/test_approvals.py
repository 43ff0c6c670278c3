"""Calls that wait for a person: at a terminal, from a pipe, and as JSON."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from typer.testing import Result

from graph_agent.testing import StrictEndpoint, check_events

EventsIn = Callable[[str], list[dict[str, Any]]]
OpenTerminal = Callable[..., Any]

POST = '''
def send(to: str) -> str:
    """Send a mail.

    Args:
        to: Whom.
    """
    with open("sent", "a") as book:
        book.write(f"{to}\\n")
    return "sent"
'''
CONFIG = '[tools]\nuse = ["post:send"]\nask = ["send"]\n[agent]\nsynthesis = "never"\n'
QUESTION = "Allow? [y]es / [n]o / [e]xplain "
WAITING = (
    "waiting: a person has to decide about {}; go on with "
    "`graph-agent resume t --allow` or `--deny`\n"
)


class RunCli(Protocol):
    def __call__(
        self, *args: str, endpoint: StrictEndpoint | None = None, stdin: str | None = None
    ) -> Result: ...

    def begin(
        self, *args: str, endpoint: StrictEndpoint | None = None
    ) -> "subprocess.Popen[str]": ...


@pytest.fixture(autouse=True)
def _post(cli: RunCli) -> None:
    """Put a tool that needs a person's decision into the working folder."""
    Path("post.py").write_text(POST, encoding="utf-8")
    Path("graph-agent.toml").write_text(CONFIG, encoding="utf-8")


def calls(*to: str) -> dict[str, Any]:
    """A reply that sends to some."""
    wire = [
        {"id": f"c{number}", "name": "send", "arguments": {"to": name}}
        for number, name in enumerate(to, 1)
    ]
    return {"content": "", "tool_calls": wire}


def sent() -> list[str]:
    return Path("sent").read_text().split() if Path("sent").exists() else []


def results(endpoint: StrictEndpoint) -> list[str]:
    """What the model was told of its calls, last."""
    messages = endpoint.requests[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def denied(why: str = "") -> str:
    return f"The call was not run: a person denied it{why}. Go on without it."


def test_without_a_terminal_the_run_waits_for_another_command(cli: RunCli) -> None:
    with StrictEndpoint([calls("Ann", "Bob"), "Done."]) as endpoint:
        asked = cli("ask", "Go", "--thread", "t", endpoint=endpoint)
        undecided = cli("resume", "t", endpoint=endpoint)
        before = sent()
        allowed = cli("resume", "t", "--allow", endpoint=endpoint)
        again = cli("resume", "t", "--allow", endpoint=endpoint)

    line = WAITING.format("`send`, `send`")
    assert (asked.exit_code, asked.stdout, asked.stderr) == (3, "", line)
    assert (undecided.exit_code, undecided.stdout, undecided.stderr) == (3, "", line)
    assert (allowed.exit_code, allowed.stdout, allowed.stderr) == (0, "Done.\n", "")
    assert (before, sorted(sent())) == ([], ["Ann", "Bob"])
    assert (again.exit_code, again.stderr) == (
        2,
        "error: Nothing of thread t waits for a decision.\n",
    )


def test_in_json_the_approvals_and_the_end_are_last(cli: RunCli, events_in: EventsIn) -> None:
    with StrictEndpoint([calls("Ann", "Bob"), "Done."]) as endpoint:
        asked = cli("ask", "Go", "--thread", "t", "--json", endpoint=endpoint)
        undecided = cli("resume", "t", "--json", endpoint=endpoint)
        first, second = (
            event["data"]["interrupt_id"] for event in events_in(undecided.stdout)[:-1]
        )
        partly = cli("resume", "t", "--json", "--decide", f"{first}=allow", endpoint=endpoint)
        both = ("--decide", f"{first}=allow", "--decide", f"{second}=deny: not him ")
        decided = cli("resume", "t", "--json", *both, endpoint=endpoint)

    told = events_in(asked.stdout)
    check_events(told)
    assert [event["data"].get("tool_args") for event in told[-3:]] == [
        {"to": "Ann"},
        {"to": "Bob"},
        None,
    ]
    assert events_in(undecided.stdout) == told[-3:]
    assert events_in(partly.stdout) == told[-2:]
    assert [each.exit_code for each in (asked, undecided, partly, decided)] == [3, 3, 3, 0]
    assert asked.stderr == undecided.stderr == WAITING.format("`send`, `send`")
    assert partly.stderr == WAITING.format("`send`")
    check_events(events_in(decided.stdout), resumed=True)
    assert results(endpoint) == ["sent", denied(": not him")]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param(["--deny"], [denied(), denied()], id="deny all"),
        pytest.param(["--decide", "c2=allow", "--deny"], [denied(), "sent"], id="all but one"),
        pytest.param(
            ["--allow", "--decide", 'c1={"args": {"to": "Eve"}}'],
            ['sent\n\n(It was run with other arguments: {"to":"Eve"})', "sent"],
            id="other arguments",
        ),
    ],
)
def test_decisions_are_given_for_all_and_for_each(
    cli: RunCli, options: list[str], told: list[str]
) -> None:
    with StrictEndpoint([calls("Ann", "Bob"), "Done."]) as endpoint:
        cli("ask", "Go", "--thread", "t", endpoint=endpoint)
        decided = cli("resume", "t", *options, endpoint=endpoint)

    assert (decided.exit_code, decided.stdout, decided.stderr) == (0, "Done.\n", "")
    assert results(endpoint) == told


@pytest.mark.parametrize(
    ("said", "part"),
    [
        pytest.param("c1", "`--decide c1` is not written as ID=allow", id="no decision"),
        pytest.param("c1={", "JSON that cannot be read", id="broken JSON"),
        pytest.param("c1=perhaps", "the decision 'perhaps' is none of", id="no such decision"),
        pytest.param("c9=allow", "No call 'c9' waits for a decision.", id="no such call"),
    ],
)
def test_a_decision_that_is_none_changes_nothing(cli: RunCli, said: str, part: str) -> None:
    with StrictEndpoint([calls("Ann")]) as endpoint:
        cli("ask", "Go", "--thread", "t", endpoint=endpoint)
        refused = cli("resume", "t", "--decide", said, endpoint=endpoint)
        waits = cli("resume", "t", endpoint=endpoint)

    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert part in refused.stderr
    assert (waits.exit_code, sent()) == (3, [])


def test_chat_from_a_pipe_stops_where_a_person_has_to_decide(cli: RunCli) -> None:
    with StrictEndpoint([calls("Ann")]) as endpoint:
        result = cli("chat", "--thread", "t", stdin="Go\nAnd then?\n", endpoint=endpoint)

    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == WAITING.format("`send`")


def test_a_person_at_the_terminal_decides_about_each_call(terminal: OpenTerminal) -> None:
    names = ("Ann", "Bob", "Eve\x1b[2J\n\x9b1m" + "e" * 100)
    with StrictEndpoint([calls(*names), calls("Joe"), "**Done.**"]) as endpoint:
        screen = terminal("ask", "Go", "--thread", "t", endpoint=endpoint)
        screen.wait_for('"to": "Ann"')
        screen.wait_for(QUESTION)
        screen.type("perhaps\n")
        screen.wait_for(QUESTION)
        screen.type("y\n")
        screen.wait_for('"to": "Bob"')
        screen.wait_for(QUESTION)
        screen.type("N\n")
        screen.wait_for("Eve\\u001b[2J\\n�1m" + "e" * 100)
        screen.wait_for(QUESTION)
        screen.type("e\n")
        screen.wait_for("Why not? ")
        screen.type("not her\n")
        screen.wait_for('"to": "Joe"')
        screen.wait_for(QUESTION)
        told = results(endpoint)
        screen.type("yes\n")
        code = screen.wait_end()

    assert (code, sent()) == (0, ["Ann", "Joe"])
    assert told == ["sent", denied(), denied(": not her")]
    assert "\x1b[1mDone.\x1b[0m" in screen.shown
    assert [evil for evil in ("\x1b[2J", "\x9b") if evil in screen.shown] == []


def test_a_person_who_gives_no_answer_leaves_the_run_waiting(
    cli: RunCli, terminal: OpenTerminal
) -> None:
    with StrictEndpoint([calls("Ann", "Bob"), "Done."]) as endpoint:
        screen = terminal("ask", "Go", "--thread", "t", endpoint=endpoint)
        screen.wait_for(QUESTION)
        screen.type("y\n")
        screen.wait_for(QUESTION)
        screen.type("\x04")
        left = screen.wait_end()
        screen = terminal("resume", "t", "--decide", "c1=deny", endpoint=endpoint)
        screen.wait_for('"to": "Bob"')
        screen.wait_for(QUESTION)
        screen.type("y\n")
        code = screen.wait_end()

    assert (left, code, sent()) == (3, 0, ["Bob"])
    assert '"to": "Ann"' not in screen.shown
    assert results(endpoint) == [denied(), "sent"]


def test_chat_asks_the_person_and_outlives_a_question_without_an_answer(
    terminal: OpenTerminal,
) -> None:
    with StrictEndpoint([calls("Ann"), "One.", calls("Bob"), "Three."]) as endpoint:
        screen = terminal("chat", "--thread", "t", endpoint=endpoint)
        screen.wait_for("> ")
        screen.type("One?\n")
        screen.wait_for(QUESTION)
        screen.type("y\n")
        screen.wait_for("One.")
        screen.wait_for("> ")
        screen.type("Two?\n")
        screen.wait_for(QUESTION)
        screen.interrupt()
        screen.wait_for("waiting: a person has to decide about `send`")
        screen.wait_for("> ")
        screen.type("Three?\n")
        screen.wait_for("Three.")
        screen.wait_for("> ")
        screen.type("\x04")
        code = screen.wait_end()

    assert (code, sent(), endpoint.rejected) == (0, ["Ann"], [])
