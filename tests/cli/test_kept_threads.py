"""What `graph-agent threads` does with one thread, without a model."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.testing import Result

from graph_agent.backends import open_backend
from graph_agent.testing import StrictEndpoint

RunCli = Callable[..., Result]
EventsIn = Callable[[str], list[dict[str, Any]]]


@pytest.fixture
def asked(cli: RunCli) -> Iterator[StrictEndpoint]:
    """An endpoint that was asked one question, on thread `t`."""
    with StrictEndpoint(["**Yes.**", "Forked."]) as endpoint:
        cli("ask", "Hi\x1b[31m?", "--thread", "t", endpoint=endpoint)
        yield endpoint


def titles(cli: RunCli) -> dict[str, str]:
    """List the threads: id and title."""
    rows = [line.split("\t") for line in cli("threads").stdout.splitlines()]
    return {thread: title for thread, _, title in rows}


@pytest.mark.usefixtures("asked")
def test_a_thread_is_renamed(cli: RunCli) -> None:
    renamed = cli("threads", "rename", "t", " My\nthread ")

    assert (renamed.exit_code, renamed.stdout) == (0, "Renamed: My thread\n")
    assert titles(cli) == {"t": "My thread"}


@pytest.mark.usefixtures("asked")
def test_a_thread_is_deleted_where_that_is_said(cli: RunCli) -> None:
    unsaid = cli("threads", "delete", "t")
    kept = titles(cli)
    deleted = cli("threads", "delete", "t", "--yes")

    assert (unsaid.exit_code, unsaid.stdout) == (2, "")
    assert unsaid.stderr == "error: Nobody can be asked here. Say `--yes` to delete the thread.\n"
    assert list(kept) == ["t"]
    assert (deleted.exit_code, deleted.stdout) == (0, "Deleted.\n")
    assert titles(cli) == {}


@pytest.mark.parametrize(
    ("keys", "code", "said", "left"),
    [
        pytest.param("y\n", 0, "Deleted.", 0, id="yes"),
        pytest.param("n\n", 130, "Nothing was deleted.", 1, id="no"),
        pytest.param("\x04", 130, "Nothing was deleted.", 1, id="end of input"),
    ],
)
def test_on_a_terminal_deleting_is_asked_for(
    cli: RunCli,
    terminal: Callable[..., Any],
    asked: StrictEndpoint,
    keys: str,
    code: int,
    said: str,
    left: int,
) -> None:
    screen = terminal("threads", "delete", "t", endpoint=asked)

    screen.wait_for("Delete thread t for good? [y/N]:")
    screen.type(keys)

    assert screen.wait_end() == code
    assert said in screen.shown
    assert len(titles(cli)) == left


@pytest.mark.usefixtures("asked")
def test_a_thread_is_exported(cli: RunCli, events_in: EventsIn) -> None:
    markdown = cli("threads", "export", "t")
    data, end = events_in(cli("threads", "export", "t", "--json").stdout)

    assert markdown.exit_code == 0
    assert markdown.stdout.startswith("# Hi␛\\[31m?\n\n- Thread: `t`\n")
    assert "**Answer:**\n\n> **Yes.**\n" in markdown.stdout
    assert (data["event"], end) == ("export", {"event": "end", "data": {}})
    assert [message["data"]["content"] for message in data["data"]["messages"]] == [
        "Hi\x1b[31m?",
        "**Yes.**",
    ]


def test_a_thread_is_forked_from_a_step(
    cli: RunCli, events_in: EventsIn, asked: StrictEndpoint
) -> None:
    *steps, _ = events_in(cli("threads", "history", "t", "--json").stdout)
    before = next(step["data"] for step in steps if step["data"]["next"] == ["think"])

    forked = cli("threads", "fork", "t", "--checkpoint", before["checkpoint_id"])
    fork = forked.stdout.strip()
    answer = cli("ask", "And now?", "--thread", fork, endpoint=asked)

    assert (forked.exit_code, answer.stdout) == (0, "Forked.\n")
    assert titles(cli) == {fork: "Hi␛[31m? (fork)", "t": "Hi␛[31m?"}
    assert asked.requests[1].body["messages"][-1]["content"].endswith("And now?")
    assert "Yes." not in str(asked.requests[1].body["messages"])


@pytest.mark.usefixtures("asked")
def test_the_history_is_listed(cli: RunCli, events_in: EventsIn) -> None:
    lines = cli("threads", "history", "t", "--limit", "2").stdout.splitlines()
    events = events_in(cli("threads", "history", "t", "--limit", "2", "--json").stdout)

    rows = [line.split("\t") for line in lines]
    ids = [event["data"]["checkpoint_id"] for event in events[:-1]]
    assert [(row[0], *row[2:]) for row in rows] == [
        (ids[0], "end", "2", "**Yes.**"),
        (ids[1], "synthesize", "2", "**Yes.**"),
    ]
    assert [event["event"] for event in events] == ["checkpoint", "checkpoint", "end"]


def test_options_before_the_command_hold_for_it(cli: RunCli, events_in: EventsIn) -> None:
    other = f"{cli.database}.other"  # type: ignore[attr-defined]  # it is our own runner
    with StrictEndpoint(["One.", "Two."]) as endpoint:
        for place in ([], ["--database", other]):
            cli("ask", "Hi", "--thread", "t", *place, endpoint=endpoint)

    deleted = cli("threads", "--database", other, "delete", "t", "--yes")
    listed = events_in(cli("threads", "--json", "--limit", "5").stdout)
    exported = events_in(cli("threads", "--json", "export", "t").stdout)

    assert deleted.exit_code == 0
    assert [event["data"].get("thread_id") for event in listed] == ["t", None]
    assert exported[0]["data"]["messages"][1]["data"]["content"] == "One."
    assert cli("threads", "--database", other).stdout == ""


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("rename", "nowhere", "Name"), "There is no thread nowhere."),
        (("delete", "nowhere", "--yes"), "There is no thread nowhere."),
        (("export", "nowhere"), "There is no thread nowhere."),
        (("history", "nowhere"), "There is no thread nowhere."),
        (("fork", "nowhere"), "There is no thread nowhere."),
        (("rename", "t", " "), "The title has 0 characters."),
        (("fork", "t", "--checkpoint", "none"), "Thread t has no checkpoint none."),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
@pytest.mark.usefixtures("asked")
def test_what_cannot_be_done_is_said_in_one_line(
    cli: RunCli, command: tuple[str, ...], said: str
) -> None:
    result = cli("threads", *command)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {said}")
    assert result.stderr.count("\n") == 1


@pytest.mark.usefixtures("asked")
def test_a_thread_that_is_busy_is_not_deleted(cli: RunCli) -> None:
    async def delete_while_it_runs() -> Result:
        backend = await open_backend(cli.database)  # type: ignore[attr-defined]  # our own runner
        async with backend.leases.hold("t"):
            result = await asyncio.to_thread(cli, "threads", "delete", "t", "--yes")
        await backend.close()
        return result

    result = asyncio.run(delete_while_it_runs())

    assert (result.exit_code, result.stdout) == (2, "")
    assert "Thread t is busy with a run." in result.stderr
    assert list(titles(cli)) == ["t"]


@pytest.mark.usefixtures("asked")
def test_limits_of_cost_need_no_prices_where_no_model_is_asked(cli: RunCli) -> None:
    result = cli("threads", "history", "t", GRAPH_AGENT_MAX_COST="1")

    assert result.exit_code == 0
