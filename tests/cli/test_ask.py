"""One question: what stdout, stderr and the exit code say."""

from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import Result

from graph_agent.testing import StrictEndpoint, check_events

RunCli = Callable[..., Result]
EventsIn = Callable[[str], list[dict[str, Any]]]

CALL = {"tool_calls": [{"id": "1", "name": "calculator", "arguments": {"expression": "6*7"}}]}
EVIL = "a\x1b]0;title\x07b\x9b31mc\r\n[red]d[/red]\x7f"


def test_the_answer_and_nothing_else_is_on_stdout(cli: RunCli) -> None:
    with StrictEndpoint([CALL, "a draft", "It is **42**."]) as endpoint:
        result = cli("ask", "6 * 7?", endpoint=endpoint)

    assert (result.exit_code, result.stdout, result.stderr) == (0, "It is **42**.\n", "")
    assert endpoint.requests[0].body["messages"][-1]["content"] == "6 * 7?"


def test_a_dash_reads_the_question_from_stdin(cli: RunCli) -> None:
    with StrictEndpoint(["Hello."]) as endpoint:
        result = cli("ask", "-", stdin="Hi,\nyou\n", endpoint=endpoint)

    assert (result.exit_code, result.stdout, result.stderr) == (0, "Hello.\n", "")
    assert endpoint.requests[0].body["messages"][-1]["content"] == "Hi,\nyou"


def test_json_prints_each_event_on_a_line(cli: RunCli, events_in: EventsIn) -> None:
    with StrictEndpoint([CALL, "a draft", "42."]) as endpoint:
        result = cli("ask", "6 * 7?", "--thread", "t", "--json", endpoint=endpoint)

    events = events_in(result.stdout)
    check_events(events)
    assert (result.exit_code, result.stderr) == (0, "")
    assert events[-1] == {"event": "end", "data": {}}
    done = events[-2]["data"]
    assert (done["answer"], done["stop_reason"], done["thread_id"]) == ("42.", "final", "t")
    calls = [e["data"] for e in events if e["data"].get("type") == "iteration"]
    assert [(call["tool_name"], call.get("observation")) for call in calls] == [
        ("calculator", None),
        ("calculator", "42"),
    ]


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["plain", "json"])
def test_a_limit_has_an_answer_and_a_code_of_its_own(cli: RunCli, options: list[str]) -> None:
    with StrictEndpoint(lambda body: CALL if "tools" in body else "So far: 42.") as endpoint:
        result = cli("ask", "6 * 7?", *options, endpoint=endpoint, GRAPH_AGENT_MAX_ITERATIONS="1")

    assert (result.exit_code, result.stderr) == (3, "")
    assert "So far: 42." in result.stdout


def test_control_characters_of_an_answer_are_made_visible(cli: RunCli) -> None:
    with StrictEndpoint([EVIL]) as endpoint:
        result = cli("ask", "Hi", endpoint=endpoint)

    assert result.stdout == "a␛]0;title␇b�31mc\n[red]d[/red]␡\n"


def test_json_escapes_control_characters(cli: RunCli, events_in: EventsIn) -> None:
    with StrictEndpoint([EVIL]) as endpoint:
        result = cli("ask", "Hi", "--json", endpoint=endpoint)

    assert not {"\x1b", "\x07", "\x9b", "\x7f", "\r"} & set(result.stdout)
    assert events_in(result.stdout)[-2]["data"]["answer"] == EVIL


def test_model_and_database_are_chosen_by_options(cli: RunCli) -> None:
    with StrictEndpoint(["Hello."]) as endpoint:
        result = cli("ask", "Hi", "--model", "other", "--database", "memory:", endpoint=endpoint)

    assert (result.exit_code, result.stdout) == (0, "Hello.\n")
    assert endpoint.requests[0].body["model"] == "other"
    assert cli("threads").stdout == ""
