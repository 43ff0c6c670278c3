"""Lists tools in one line each; where they are too many, those that the question is about."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from langchain_core.tools import BaseTool

from graph_agent.context.tokens import schema_tokens, text_tokens
from graph_agent.tools.registry import ToolRegistry

MOST_TOKENS = 4_000
"""Tokens of a catalogue, at most."""
SHARE = 4
"""Of a prompt's budget it takes one part in so many, at most."""
SCHEMAS_SHARE = 2
"""Of a prompt's budget the schemas of tools that nobody chose take one part in so many, at most."""
LINE_LENGTH = 80
"""Characters of one line, about."""
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W_a-zA-Z0-9]+")
"""A word of a text, or a part of a name such as `getWeather` or `get_weather`."""
QUESTION_CHARS = 4_000
"""Characters of the question that tools are ranked by."""


def catalogue(tools: Sequence[BaseTool], question: str, *, budget: int) -> str:
    """Describe tools in one line each: what each is called and does, without its schema.

    All of them, in their own order, where they fit; else as many as fit, the likeliest first.

    Args:
        tools: On offer.
        question: What they are for.
        budget: Tokens of a prompt of the model that will read it.
    """
    room = min(MOST_TOKENS, budget // SHARE)
    lines = [_line(tool) for tool in tools]
    if sum(map(_tokens, lines)) > room:
        lines = list(_fitting([lines[index] for index in ranking(tools, question)], room))
    return "\n".join(lines)


def affordable(tools: ToolRegistry, question: str, *, budget: int) -> list[str]:
    """Name the tools whose schemas fit half of a prompt, the likeliest first; empty means all do.

    Args:
        tools: On offer.
        question: What they are for.
        budget: Tokens of a prompt of the model that they are offered to.
    """
    room = budget // SCHEMAS_SHARE
    sizes = [_schema_tokens(tool, tools) for tool in tools]
    if sum(sizes) <= room:
        return []
    everything, names = list(tools), list[str]()
    for index in ranking(everything, question):
        room -= sizes[index]
        if room < 0:
            break
        names.append(everything[index].name)
    return names


def ranking(tools: Sequence[BaseTool], question: str) -> list[int]:
    """Order tools by how well their names and descriptions match a question, the best first.

    Returns:
        Indices into `tools`; those that match equally well stay in their order.
    """
    # Loads numpy, which takes a tenth of a second and is needed for very many tools only.
    from bm25s import BM25  # noqa: PLC0415

    texts = [_words(f"{tool.name} {tool.description}") for tool in tools]
    asked = sorted(set(_words(question[:QUESTION_CHARS])) & {w for text in texts for w in text})
    if not asked:
        return list(range(len(tools)))
    index = BM25()
    index.index(texts, show_progress=False)
    scores = index.get_scores(asked)
    return sorted(range(len(tools)), key=lambda number: (-float(scores[number]), number))


def _fitting(lines: Sequence[str], room: int) -> Iterator[str]:
    for line in lines:
        room -= _tokens(line)
        if room < 0:
            return
        yield line


def _tokens(line: str) -> int:
    return text_tokens(f"{line}\n")


def _schema_tokens(tool: BaseTool, tools: ToolRegistry) -> int:
    return schema_tokens(
        [{"name": tool.name, "about": tool.description, **tools.schema(tool.name)}]
    )


def _line(tool: BaseTool) -> str:
    first = tool.description.strip().split("\n", 1)[0]
    line = f"{tool.name}: {first}"
    return line if len(line) <= LINE_LENGTH else line[: LINE_LENGTH - 1] + "…"


def _words(text: str) -> list[str]:
    """Cut a text into words; of other scripts also into pairs of letters.

    Korean words carry their particles, and Chinese is written without spaces: there it is the
    pairs that match.

    >>> _words("getWeather: 날씨를")
    ['get', 'weather', '날씨를', '날씨', '씨를']
    """
    found: list[str] = []
    for word in WORD.findall(text):
        found.append(word.lower())
        if not word.isascii():
            found += [a + b for a, b in pairwise(word)]
    return found
