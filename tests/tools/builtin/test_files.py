"""Listing and reading below one root: what is shown, what stays closed, and what fits."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.tools import BaseTool, ToolException

from graph_agent.errors import ConfigError
from graph_agent.tools.builtin.files import file_tools
from graph_agent.tools.builtin.folder import FileLimits, is_named_by

Call = Callable[..., str]
CLOSED = (
    ".env",
    ".git/config",
    "prod.env",
    "server.PEM",
    "id_rsa",
    "credentials.json",
    "secrets/plan.txt",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    write(root / "notes.txt", "one\ntwo\nthree\n")
    write(root / "docs/guide.md", "# Guide\n")
    write(tmp_path / "outside.txt", "out of bounds")
    return root


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    write(tree / "a/a.txt", "text")
    return tree


@pytest.fixture
def call(root: Path) -> Call:
    return caller(root)


def caller(root: Path, limits: FileLimits | None = None) -> Call:
    tools: dict[str, BaseTool] = {
        tool.name: tool for tool in file_tools(root, limits or FileLimits())
    }

    def call(name: str, **arguments: Any) -> str:
        result: str = tools[name].invoke(arguments)
        return result

    return call


def write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def refusal(call: Call, name: str, **arguments: Any) -> str:
    with pytest.raises(ToolException) as caught:
        call(name, **arguments)
    return str(caught.value)


def test_a_listing_is_sorted_and_its_paths_can_be_read(call: Call) -> None:
    assert call("list_files") == "docs/\nnotes.txt"
    assert call("list_files", path="docs") == "docs/guide.md"
    assert call("read_file", path="docs/guide.md") == "# Guide"


def test_an_empty_folder_is_told_in_words(root: Path, call: Call) -> None:
    (root / "empty").mkdir()

    assert call("list_files", path="empty") == "There are no files in empty."


def test_a_long_listing_says_what_it_leaves_out(root: Path) -> None:
    call = caller(root, FileLimits(listed=1))

    assert call("list_files") == ("docs/\n[The first 1 of 2 entries; search_files finds others.]")


def test_a_folder_with_too_many_entries_is_refused(root: Path) -> None:
    call = caller(root, FileLimits(entries=1))

    assert refusal(call, "list_files") == (
        ". holds more than 1 entries, too many to go through. Name a file or a folder in it."
    )


def test_control_characters_in_names_are_escaped(root: Path, call: Call) -> None:
    write(root / "odd/a\nb\x1b\u202e.txt", "")
    write(root / "odd/d\u00e9j\u00e0 vu.txt", "")

    assert call("list_files", path="odd") == (
        "odd/a\\nb\\x1b\\u202e.txt\nodd/d\u00e9j\u00e0 vu.txt"
    )


@pytest.mark.parametrize("path", CLOSED)
def test_hidden_and_secret_files_are_neither_listed_nor_read(root: Path, path: str) -> None:
    write(root / "vault" / path, "TOKEN")
    call = caller(root)

    assert call("list_files", path="vault") == "There are no files in vault."
    assert call("search_files", query="token") == "No line contains 'token' in 2 searched files."
    assert refusal(call, "read_file", path=f"vault/{path}") == (
        f"vault/{path} is hidden or looks like a secret, and stays closed. Go on without it."
    )


@pytest.mark.parametrize("target", ["../outside.txt", "..", ".env", "loop", "nowhere"])
def test_links_that_lead_out_or_to_secrets_stay_closed(root: Path, target: str) -> None:
    write(root / ".env", "TOKEN")
    (root / "links").mkdir()
    (root / "links/loop").symlink_to(root / "links/loop")
    (root / "links/link").symlink_to(target if target == "loop" else root / target)
    call = caller(root)

    assert call("list_files", path="links") == "There are no files in links."
    assert "links/link" in refusal(call, "read_file", path="links/link")


def test_links_that_stay_inside_are_followed(root: Path, call: Call) -> None:
    (root / "docs/latest.md").symlink_to("guide.md")
    (root / "manual").symlink_to("docs")

    assert call("list_files") == "docs/\nmanual/\nnotes.txt"
    assert call("read_file", path="manual/latest.md") == "# Guide"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param(
            "../outside.txt",
            "../outside.txt is outside the folder that can be read. "
            "Use a path that list_files shows.",
            id="parent",
        ),
        pytest.param(
            "docs/../../outside.txt",
            "docs/../../outside.txt is outside the folder that can be read. "
            "Use a path that list_files shows.",
            id="parent, further down",
        ),
        pytest.param(
            "/etc/passwd",
            "/etc/passwd is an absolute path. "
            'Give one relative to the top folder ".", as list_files shows it.',
            id="absolute",
        ),
        pytest.param(
            "a\0b",
            "a\\x00b is no usable path. Use one that list_files shows.",
            id="NUL",
        ),
        pytest.param(
            "note.txt",
            "There is no note.txt. In . there is: notes.txt, docs/.",
            id="misspelt",
        ),
        pytest.param(
            "docs/old/guide.md",
            "There is no docs/old/guide.md. In docs there is: docs/guide.md.",
            id="missing folder",
        ),
        pytest.param(
            "notes.txt/x",
            "There is no notes.txt/x. In . there is: notes.txt, docs/.",
            id="below a file",
        ),
        pytest.param(
            "docs",
            "docs is a folder. Use list_files to see what is in it.",
            id="folder",
        ),
        pytest.param(
            "x" * 300,
            f"There is no {'x' * 200}…. In . there is: docs/, notes.txt.",
            id="too long a name",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(
    call: Call, path: str, message: str
) -> None:
    assert refusal(call, "read_file", path=path) == message


def test_a_file_is_no_folder_to_list(call: Call) -> None:
    assert refusal(call, "list_files", path="notes.txt") == (
        "notes.txt is a file. Use read_file to read it."
    )


def test_a_pipe_is_neither_listed_nor_waited_for(root: Path, call: Call) -> None:
    os.mkfifo(root / "docs/pipe")

    assert call("list_files", path="docs") == "docs/guide.md"
    assert refusal(call, "read_file", path="docs/pipe") == (
        "docs/pipe is not a regular file. Choose another one."
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param({}, "one\ntwo\nthree", id="all"),
        pytest.param({"offset": 3}, "three", id="the end"),
        pytest.param(
            {"offset": 0, "limit": 0},
            "one\n[Lines 1 to 1 of 3. Go on with offset=2.]",
            id="clamped",
        ),
        pytest.param(
            {"offset": 2, "limit": 1},
            "two\n[Lines 2 to 2 of 3. Go on with offset=3.]",
            id="the middle",
        ),
    ],
)
def test_reading_some_lines(call: Call, arguments: dict[str, int], text: str) -> None:
    assert call("read_file", path="notes.txt", **arguments) == text


def test_reading_past_the_end_is_refused(call: Call) -> None:
    assert refusal(call, "read_file", path="notes.txt", offset=4) == (
        "notes.txt ends at line 3. Give an offset from 1 to 3."
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(b"", "file.txt is empty.", id="empty"),
        pytest.param(b"a\r\nb\rc", "a\nb\nc", id="line ends"),
        pytest.param(b"\xef\xbb\xbfa", "a", id="byte order mark"),
        pytest.param("서울\n".encode(), "서울", id="UTF-8"),
        pytest.param(b"caf\xe9", "caf\ufffd", id="not UTF-8"),
        pytest.param(
            b"\x89PNG\0\0",
            "file.txt is a binary file of 6 bytes; there is no text to read in it.",
            id="binary",
        ),
    ],
)
def test_contents_become_text(root: Path, call: Call, content: bytes, text: str) -> None:
    write(root / "file.txt", content)

    assert call("read_file", path="file.txt") == text


def test_only_whole_lines_that_fit_are_shown(root: Path) -> None:
    call = caller(root, FileLimits(characters=8))

    assert call("read_file", path="notes.txt") == (
        "one\ntwo\n[Lines 1 to 2 of 3. Go on with offset=3.]"
    )


def test_one_line_that_does_not_fit_is_cut(root: Path) -> None:
    call = caller(root, FileLimits(characters=2))

    assert call("read_file", path="notes.txt") == (
        "on\n[Line 1 has 3 characters; the first 2 are shown.]\n"
        "[Lines 1 to 1 of 3. Go on with offset=2.]"
    )


def test_a_huge_file_is_refused_with_its_size(root: Path) -> None:
    call = caller(root, FileLimits(file_bytes=13))

    assert refusal(call, "read_file", path="notes.txt") == (
        "notes.txt has 14 bytes or more, and files of up to 13 bytes can be read. "
        "Choose another file."
    )


@pytest.mark.parametrize("path", ["..", "nothing", "a\0", "docs", "/", "docs/" * 2000])
def test_no_message_tells_where_the_root_is(root: Path, call: Call, path: str) -> None:
    assert str(root.parent) not in refusal(call, "read_file", path=path)


def test_an_open_file_is_known_by_its_path(root: Path) -> None:
    with (root / "docs/guide.md").open() as file:
        assert is_named_by(file.fileno(), root / "docs/guide.md")
        assert not is_named_by(file.fileno(), root / "notes.txt")


def test_a_folder_that_became_a_link_is_noticed(root: Path) -> None:
    (root / "docs").rename(root.parent / "elsewhere")
    (root / "docs").symlink_to(root.parent / "elsewhere")

    with (root / "docs/guide.md").open() as file:
        assert not is_named_by(file.fileno(), root / "docs/guide.md")


@given(path=st.text(), glob=st.text(alphabet="*?[]!^-a/.\\{}"), query=st.text())
@settings(deadline=None)
def test_no_arguments_raise_anything_but_a_tool_exception(
    tree: Path, path: str, glob: str, query: str
) -> None:
    call = caller(tree)
    for name, arguments in [
        ("list_files", {"path": path}),
        ("read_file", {"path": path}),
        ("search_files", {"query": query, "path": path}),
        ("search_files", {"query": query, "glob": glob}),
    ]:
        with suppress(ToolException):
            assert call(name, **arguments) != ""


def test_a_root_that_is_no_folder_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        file_tools(tmp_path / "nowhere")

    assert str(caught.value) == (
        f"{tmp_path / 'nowhere'} is no folder. Set `root` below [tools] to an existing one."
    )
