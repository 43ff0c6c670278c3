"""Threads from one command to the next."""

from collections.abc import Callable
from typing import Any

from typer.testing import Result

from graph_agent.testing import HttpError, StrictEndpoint, check_events
from graph_agent.testing.replies import Reply

RunCli = Callable[..., Result]
EventsIn = Callable[[str], list[dict[str, Any]]]


def test_threads_lists_the_one_used_last_first(cli: RunCli, events_in: EventsIn) -> None:
    with StrictEndpoint(lambda _: "Yes.") as endpoint:
        for thread, question in (("a", "First?"), ("b", "Second\x1b[31m?"), ("a", "Third?")):
            cli("ask", question, "--thread", thread, endpoint=endpoint)

    rows = [line.split("\t") for line in cli("threads").stdout.splitlines()]
    assert [(thread, title) for thread, _, title in rows] == [
        ("a", "First?"),
        ("b", "Second␛[31m?"),
    ]
    events = events_in(cli("threads", "--json", "--limit", "1").stdout)
    assert [(event["event"], event["data"].get("thread_id")) for event in events] == [
        ("thread", "a"),
        ("end", None),
    ]
    assert events[0]["data"].keys() == {"thread_id", "title", "created_at", "updated_at"}


def test_an_interrupt_needs_a_run_in_progress(cli: RunCli) -> None:
    with StrictEndpoint(["One."]) as endpoint:
        cli("ask", "First?", "--thread", "t", endpoint=endpoint)
        refused = cli("interrupt", "t", "Be brief.")

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "No run is in progress on thread t." in refused.stderr


def test_resume_goes_on_with_a_run_that_broke_off(cli: RunCli, events_in: EventsIn) -> None:
    call = {"id": "1", "name": "calculator", "arguments": {"expression": "6*7"}}
    script: list[Reply] = [{"tool_calls": [call]}, HttpError(status=500), "a draft", "42."]
    with StrictEndpoint(script) as endpoint:
        broken = cli("ask", "6 * 7?", "--thread", "t", endpoint=endpoint)
        resumed = cli("resume", "t", "--json", endpoint=endpoint)
        again = cli("resume", "t", endpoint=endpoint)

    events = events_in(resumed.stdout)
    check_events(events, resumed=True)
    assert (broken.exit_code, resumed.exit_code, again.exit_code) == (4, 0, 2)
    assert events[-2]["data"]["answer"] == "42."
    # The call of before the failure was not run again.
    assert [e for e in events if e["data"].get("type") == "iteration"] == []
    assert "nothing to resume" in again.stderr


def test_chat_from_a_pipe_asks_line_by_line_on_one_thread(cli: RunCli) -> None:
    with StrictEndpoint(["One.", "Two."]) as endpoint:
        result = cli("chat", stdin="First?\n\nSecond?\n", endpoint=endpoint)

    assert (result.exit_code, result.stdout, result.stderr) == (0, "One.\nTwo.\n", "")
    assert [message["content"] for message in endpoint.requests[1].body["messages"]][1:] == [
        "First?",
        "One.",
        "Second?",
    ]


def test_chat_from_a_pipe_ends_with_the_first_failure(cli: RunCli) -> None:
    with StrictEndpoint(["One.", HttpError(status=500), "Three."]) as endpoint:
        result = cli("chat", stdin="First?\nSecond?\nThird?\n", endpoint=endpoint)

    assert (result.exit_code, result.stdout, endpoint.asked) == (4, "One.\n", 2)
