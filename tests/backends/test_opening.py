"""Opening a database: what cannot be opened is told in one clear error."""

import sqlite3
from pathlib import Path

import psycopg
import pytest
from langchain_core.messages import AIMessage

from graph_agent import ConfigError, ReActAgent, ThreadBusyError
from graph_agent.backends import open_backend
from graph_agent.backends.advisory_leases import AdvisoryLeases
from graph_agent.testing import ScriptedChatModel

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        pytest.param("mysql://u:secret@host/db", "no database of the kind `mysql:`", id="kind"),
        pytest.param("threads.sqlite", "no database of the kind `:`", id="a path"),
        pytest.param("", "no database of the kind `:`", id="empty"),
        pytest.param("sqlite:///{folder}", "unable to open database file", id="a folder"),
        pytest.param("sqlite:///{folder}/text", "file is not a database", id="not a database"),
        pytest.param("sqlite:///{folder}/text/t.sqlite", "File exists", id="below a file"),
        pytest.param("sqlite:////proc/no/t.sqlite", "No such file or directory", id="no folder"),
        pytest.param("postgresql://127.0.0.1:1/db", "Connection refused", id="no server"),
        pytest.param("postgresql://%zz", "invalid percent-encoded token", id="no URL"),
    ],
)
async def test_what_cannot_be_opened_is_told(url: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("This is a letter, and no database at all.\n" * 100)

    with pytest.raises(ConfigError, match=fault) as caught:
        await open_backend(url.format(folder=tmp_path))

    assert "secret" not in str(caught.value)


async def test_a_failed_opening_is_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "t.sqlite"
    file.write_text("This is a letter, and no database at all.\n" * 100)
    agent = ReActAgent(ScriptedChatModel(replies=["Yes."]), database=f"sqlite:///{file}")

    with pytest.raises(ConfigError):
        await agent.run("Hi")
    file.unlink()

    assert (await agent.run("Hi")).answer == "Yes."
    await agent.aclose()


async def test_the_file_and_its_folder_are_made(tmp_path: Path) -> None:
    backend = await open_backend(f"sqlite:///{tmp_path}/new/한국어/t.sqlite")
    await backend.close()

    with sqlite3.connect(tmp_path / "new" / "한국어" / "t.sqlite") as connection:
        mode = connection.execute("PRAGMA journal_mode").fetchone()
    connection.close()
    assert mode == ("wal",)


def test_a_thread_grows_linearly_on_disk(tmp_path: Path) -> None:
    def look(at: int) -> str:
        """Look."""
        return f"{at:4}" * 512

    def reply(messages: list[object]) -> AIMessage:
        call = {"id": f"c{len(messages)}", "name": "look", "args": {"at": len(messages)}}
        return AIMessage("", tool_calls=[{**call, "type": "tool_call"}])

    model = ScriptedChatModel(replies=[*[reply] * 200, "Done."])
    agent = ReActAgent(
        model,
        [look],
        database=f"sqlite:///{tmp_path}/t.sqlite",
        max_iterations=201,
        synthesis="never",
        compaction="off",
    )
    result = agent.run_sync("Go", thread_id="t")
    agent.close()

    assert (result.answer, len(result.steps)) == ("Done.", 200)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 10_000_000


async def test_a_lease_is_freed_when_its_connection_is_lost(postgres_url: str) -> None:
    mine, theirs = AdvisoryLeases(postgres_url), AdvisoryLeases(postgres_url)
    async with mine.hold("t"):
        with pytest.raises(ThreadBusyError):
            async with theirs.hold("t"):
                pytest.fail("held twice")
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory'"
            )
        async with theirs.hold("t"):
            pass

    async with mine.hold("t"), theirs.hold("another"):
        pass
    await mine.close()
    await theirs.close()
