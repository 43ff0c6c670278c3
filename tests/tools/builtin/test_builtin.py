"""The shipped tools by their names, and what a model is told about each."""

from pathlib import Path

from langchain_core.utils.function_calling import convert_to_openai_tool

from graph_agent.tools.builtin import BUILTIN


def test_each_tool_has_the_name_that_the_configuration_uses(tmp_path: Path) -> None:
    tools = {name: build(tmp_path) for name, build in BUILTIN.items()}

    assert {name: tool.name for name, tool in tools.items()} == {
        "calculator": "calculator",
        "current_time": "current_time",
        "list_files": "list_files",
        "read_file": "read_file",
        "search_files": "search_files",
    }


def test_each_argument_is_described(tmp_path: Path) -> None:
    undescribed = [
        (name, argument)
        for name, build in BUILTIN.items()
        for argument, schema in convert_to_openai_tool(build(tmp_path))["function"]["parameters"][
            "properties"
        ].items()
        if not schema.get("description")
    ]

    assert undescribed == []


def test_a_tool_that_needs_no_root_is_built_without_one(tmp_path: Path) -> None:
    assert BUILTIN["calculator"](tmp_path / "missing").invoke({"expression": "1 + 1"}) == "2"
