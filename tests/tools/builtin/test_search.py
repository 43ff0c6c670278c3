"""Searching below one root: literal, in order, bounded, and open about what was left out."""

from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.tools import ToolException

from graph_agent.tools.builtin.folder import FileLimits
from graph_agent.tools.builtin.search import glob_matches, search_files_tool

Search = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "b.txt", "Red apple\n\ngreen pear\n")
    write(tmp_path / "a/deep/apples.md", "# APPLE (ripe)\n")
    write(tmp_path / "c.bin", b"apple\0")
    return tmp_path


@pytest.fixture
def search(root: Path) -> Search:
    return searcher(root)


def searcher(root: Path, limits: FileLimits | None = None) -> Search:
    tool = search_files_tool(root, limits or FileLimits())

    def search(query: str, **arguments: str) -> str:
        result: str = tool.invoke({"query": query, **arguments})
        return result

    return search


def write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


SKIPPED = "[Skipped as binary, too large or unreadable: 1.]"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        pytest.param(
            {"query": "apple"},
            f"a/deep/apples.md:1: # APPLE (ripe)\nb.txt:1: Red apple\n{SKIPPED}",
            id="case is ignored, files in order",
        ),
        pytest.param(
            {"query": "(ripe"}, f"a/deep/apples.md:1: # APPLE (ripe)\n{SKIPPED}", id="literal"
        ),
        pytest.param(
            {"query": "p.*e"}, f"No line contains 'p.*e' in 2 searched files.\n{SKIPPED}", id="none"
        ),
        pytest.param({"query": "pear", "path": "b.txt"}, "b.txt:3: green pear", id="one file"),
        pytest.param(
            {"query": "apple", "path": "a"}, "a/deep/apples.md:1: # APPLE (ripe)", id="one folder"
        ),
        pytest.param(
            {"query": "apple", "glob": "*.md"},
            "a/deep/apples.md:1: # APPLE (ripe)",
            id="a name pattern holds in every folder",
        ),
        pytest.param(
            {"query": "apple", "glob": "*/*.md"},
            "No line contains 'apple' in 0 searched files.",
            id="a path pattern holds from the start",
        ),
    ],
)
def test_it_finds_lines(search: Search, arguments: dict[str, str], found: str) -> None:
    assert search(**arguments) == found


@pytest.mark.parametrize("query", ["", " ", "a\nb"])
def test_a_query_without_words_of_one_line_is_refused(search: Search, query: str) -> None:
    with pytest.raises(ToolException, match="Give words of one line"):
        search(query)


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        pytest.param(
            FileLimits(matches=1),
            "b.txt:1: Red apple\n[Stopped early after 1 matches. Narrow the query, path or glob.]",
            id="matches",
        ),
        pytest.param(
            FileLimits(matches=2), "b.txt:1: Red apple\nb.txt:3: green pear", id="exactly as many"
        ),
        pytest.param(
            FileLimits(search_bytes=5),
            "b.txt:1: Red apple\nb.txt:3: green pear",
            id="bytes, with no file left",
        ),
        pytest.param(
            FileLimits(file_bytes=9),
            f"No line contains 'e' in 0 searched files.\n{SKIPPED}",
            id="file size",
        ),
        pytest.param(
            FileLimits(match_characters=4), "b.txt:1: Red…\nb.txt:3: gree…", id="line length"
        ),
    ],
)
def test_it_says_what_a_limit_cut(root: Path, limits: FileLimits, found: str) -> None:
    assert searcher(root, limits)("e", path="b.txt") == found


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        pytest.param(FileLimits(search_bytes=15), "15 bytes", id="bytes"),
        pytest.param(FileLimits(entries=3), "3 files and folders", id="entries"),
    ],
)
def test_it_stops_early_over_many_files(root: Path, limits: FileLimits, reason: str) -> None:
    assert searcher(root, limits)("apple") == (
        "a/deep/apples.md:1: # APPLE (ripe)\n"
        f"[Stopped early after {reason}. Narrow the query, path or glob.]"
    )


def test_a_folder_that_is_too_full_is_skipped(root: Path) -> None:
    for number in range(5):
        write(root / f"a/full/{number}.txt", "apple")

    assert searcher(root, FileLimits(entries=4))("apple", glob="*.md") == (
        "a/deep/apples.md:1: # APPLE (ripe)\n"
        "[Skipped as binary, too large or unreadable: 1.]\n"
        "[Stopped early after 4 files and folders. Narrow the query, path or glob.]"
    )


def test_a_long_line_is_shown_around_the_match(root: Path) -> None:
    write(root / "long.txt", "x" * 5_000 + "needle" + "y" * 5_000)

    assert searcher(root, FileLimits(match_characters=10))("NEEDLE", path="long.txt") == (
        "long.txt:1: …xxxxxneedl…"
    )


def test_links_to_folders_are_not_walked_into(root: Path, search: Search) -> None:
    (root / "a/again").symlink_to(root)
    (root / "a/same.txt").symlink_to(root / "b.txt")

    assert search("pear") == f"a/same.txt:3: green pear\nb.txt:3: green pear\n{SKIPPED}"


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        pytest.param("a.md", "**/*.md", True, id="** stands for no name"),
        pytest.param("a/b/c.md", "**/*.md", True, id="** stands for several names"),
        pytest.param("a/b/c.md", "a/**", True, id="** at the end"),
        pytest.param("a/b/c.md", "a/*", False, id="* stays within a name"),
        pytest.param("a/b/c.md", "a/**/c.*", True, id="** in the middle"),
        pytest.param("a/b/c.md", "b/c.md", False, id="from the start"),
        pytest.param("a", "a/b", False, id="pattern is longer"),
        pytest.param(
            "/".join("a" * 60), "/".join(["**", "a"] * 30 + ["b"]), False, id="no blow-up"
        ),
    ],
)
def test_glob_matches(path: str, pattern: str, matches: bool) -> None:
    assert glob_matches(tuple(path.split("/")), tuple(pattern.split("/"))) is matches
