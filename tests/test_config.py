import re
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from langchain_core.tools import BaseTool

from graph_agent.config import Config, load_config
from graph_agent.errors import ApprovalNeededError, ConfigError
from graph_agent.hooks import Allow, Ask, Deny, Hooks, ToolOutcome, ToolUse, Verdict, called
from graph_agent.models.spec import ModelSpec, PartialAbilities
from graph_agent.plugins import named_tool
from graph_agent.settings import Settings
from graph_agent.testing import StrictEndpoint
from graph_agent.tools.builtin import BUILTIN

WHOLE = """
default_model = "main"
fast_model = "small"
[models.main]
provider = "openai"
model = "gpt-5-mini"
[models.small]
provider = "openai"
model = "qwen2.5-1.5b"
base_url = "http://127.0.0.1:8080/v1"
abilities = { tool_call = false, json_mode = true }
context_size = 8192
max_output_tokens = 1024
hints = ["fast"]
[agent]
max_iterations = 7
database = "memory:"
[tools]
use = ["calculator", "current_time"]
root = "."
"""
KEY = {"OPENAI_API_KEY": "sk-secret"}


def written(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_whole_file(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, WHOLE), environ=KEY)

    assert config.settings == Settings(max_iterations=7, database="memory:")
    assert config.models.specs == {
        "main": ModelSpec(model="gpt-5-mini"),
        "small": ModelSpec(
            model="qwen2.5-1.5b",
            base_url="http://127.0.0.1:8080/v1",
            abilities=PartialAbilities(tool_call=False, json_mode=True),
            context_size=8192,
            max_output_tokens=1024,
            hints=["fast"],
        ),
    }
    assert [tool.name for tool in config.tools() if isinstance(tool, BaseTool)] == [
        "calculator",
        "current_time",
    ]
    agent = config.agent()
    assert (agent.model.name, agent.settings, len(agent.tools)) == ("main", config.settings, 2)
    assert config.agent("small").model.name == "small"


def test_without_a_file_all_is_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    config = load_config(environ={})

    assert (config.settings, config.models.specs) == (Settings(), {})
    assert [getattr(tool, "name", None) for tool in config.tools()] == list(BUILTIN)


def test_the_file_is_looked_for_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(["graph-agent.toml", "variable.toml", "argument.toml"], start=1):
        Path(name).write_text(f"[agent]\nmax_iterations = {number}", encoding="utf-8")
    variable = {"GRAPH_AGENT_CONFIG": "variable.toml"}

    found = [
        load_config(environ={}),
        load_config(environ={"GRAPH_AGENT_CONFIG": ""}),
        load_config(environ=variable),
        load_config(Path("argument.toml"), environ=variable),
    ]

    assert [config.settings.max_iterations for config in found] == [1, 1, 2, 3]


def test_keywords_go_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, '[agent]\nmax_iterations = 1\nmax_retries = 1\nsynthesis = "never"')
    environ = {"GRAPH_AGENT_MAX_ITERATIONS": "2", "GRAPH_AGENT_MAX_RETRIES": "2"}

    settings = load_config(path, environ=environ, max_iterations=3).settings

    assert (settings.max_iterations, settings.max_retries, settings.synthesis) == (3, 2, "never")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            "defualt_model = 'm'", "In {path}: `defualt_model`: there is no such setting.", id="key"
        ),
        pytest.param(
            "[models.main]\nmodel = 'm'\nbase_ulr = 'x'",
            "In {path}: `models.main.base_ulr`: there is no such setting.",
            id="key of a model",
        ),
        pytest.param(
            "[models.main]\nmodel = 'm'\nabilities = { tools = true }",
            "In {path}: `models.main.abilities.tools`: there is no such setting.",
            id="ability",
        ),
        pytest.param(
            "[models.main]\n",
            "In {path}: `models.main`: value error, `model` is missing",
            id="no model",
        ),
        pytest.param(
            "[tools]\nuses = []",
            "In {path}: `tools.uses`: there is no such setting.",
            id="key of the tools",
        ),
        pytest.param(
            "[hooks]\npre_tool = 'x:y'",
            "In {path}: `hooks.pre_tool`: there is no such setting.",
            id="key of the hooks",
        ),
        pytest.param(
            "[agent]\nmax_iteration = 5",
            "In `[agent]` of the config file: `max_iteration`: there is no such setting.",
            id="setting",
        ),
        pytest.param(
            "default_model = ",
            "The config file {path} is no valid TOML: Invalid value",
            id="broken",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, text: str, fault: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(ConfigError, match=f"^{re.escape(fault.format(path=path))}"):
        load_config(path, environ={})


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(
        ConfigError, match=f"^The config file {re.escape(str(path))} is no valid TOML"
    ):
        load_config(path, environ={})


@pytest.mark.parametrize("by", ["argument", "variable"])
def test_a_file_that_was_named_must_be_there(tmp_path: Path, by: str) -> None:
    path = tmp_path / "gone.toml"
    named: dict[str, Any] = (
        {"path": path, "environ": {}}
        if by == "argument"
        else {"environ": {"GRAPH_AGENT_CONFIG": str(path)}}
    )

    with pytest.raises(ConfigError) as caught:
        load_config(**named)

    assert str(caught.value) == f"The config file {path} cannot be read: No such file or directory."


def test_a_tool_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "own_tools_for_test.py"
    module.write_text('def lookup(q: str) -> str:\n    """Look up."""\n    return q\n')
    path = written(tmp_path, '[tools]\nuse = ["own_tools_for_test:lookup"]')

    (tool,) = load_config(path, environ={}).tools()

    assert callable(tool)
    assert tool("x") == "x"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(
            "calculater",
            "There is no tool `calculater`. Shipped: calculator, current_time, list_files, "
            "read_file, search_files; yours: `module:name`.",
            id="not shipped",
        ),
        pytest.param(
            "no_such_module:x",
            "The tool `no_such_module:x` cannot be imported: No module named 'no_such_module'.",
            id="no module",
        ),
        pytest.param(
            "json:no_such_name",
            "The tool `json:no_such_name` cannot be imported: "
            "module 'json' has no attribute 'no_such_name'.",
            id="no such name in it",
        ),
        pytest.param(":x", "The tool `:x` cannot be imported: Empty module name.", id="no name"),
    ],
)
def test_an_unknown_tool_is_named(name: str, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        named_tool(name, Path())

    assert str(caught.value) == fault


HOOKS = """
from graph_agent.hooks import Allow, Ask, Change, Deny

VERDICTS = {"read_file": Deny("no files"), "list_files": Change({"pattern": "*.txt"})}
text = "no function"


def before(use):
    return VERDICTS.get(use.tool_name)


async def after(use, outcome):
    return outcome.text.upper()
"""


@pytest.fixture
def own_hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_hooks_for_test.py").write_text(HOOKS, encoding="utf-8")


async def verdicts(hooks: Hooks, *tools: str) -> list[Verdict]:
    """What is said about calls of these tools."""
    uses = [ToolUse(call_id="c", tool_name=name, tool_args={}, iteration=1) for name in tools]
    assert hooks.pre_tool_use is not None
    return [await called(hooks.pre_tool_use, use) for use in uses]


@pytest.mark.anyio
@pytest.mark.usefixtures("own_hooks")
async def test_hooks_are_asked_before_a_person_is(tmp_path: Path) -> None:
    text = f"""
    {WHOLE.replace('use = ["calculator", "current_time"]', 'ask = ["*_files", "cal?ulator"]')}
    [hooks]
    pre_tool_use = "own_hooks_for_test:before"
    post_tool_use = "own_hooks_for_test:after"
    """

    hooks = load_config(written(tmp_path, text), environ=KEY).deps().hooks

    assert await verdicts(hooks, *BUILTIN) == [
        Ask(),
        Allow(),
        Deny("its arguments were changed, and a person who is asked would not see the new ones"),
        Deny("no files"),
        Ask(),
    ]
    assert hooks.post_tool_use is not None
    use = ToolUse(call_id="c", tool_name="calculator", tool_args={}, iteration=1)
    outcome = ToolOutcome(text="found", error=False)
    assert await called(hooks.post_tool_use, use, outcome) == "FOUND"


@pytest.mark.anyio
async def test_a_person_is_asked_without_a_hook(tmp_path: Path) -> None:
    path = written(tmp_path, '[tools]\nuse = ["calculator", "current_time"]\nask = ["calc*"]')

    hooks = load_config(path, environ=KEY).deps().hooks

    assert await verdicts(hooks, "calculator", "current_time") == [Ask(), Allow()]
    assert hooks.post_tool_use is None


def test_without_either_no_hook_is_set_up(tmp_path: Path) -> None:
    assert load_config(written(tmp_path, WHOLE), environ=KEY).deps().hooks == Hooks()


@pytest.mark.anyio
async def test_the_agent_has_the_hooks_that_the_file_names(tmp_path: Path) -> None:
    call = {"id": "1", "name": "calculator", "arguments": {"expression": "6*7"}}
    with StrictEndpoint([{"tool_calls": [call]}]) as endpoint:
        environ = KEY | {"OPENAI_BASE_URL": endpoint.base_url, "GRAPH_AGENT_DATABASE": "memory:"}
        path = written(tmp_path, '[tools]\nask = ["calculator"]')
        async with await to_thread.run_sync(load_config(path, environ=environ).agent) as agent:
            with pytest.raises(ApprovalNeededError) as paused:
                await agent.run("6 * 7?")

    assert [each["tool_args"] for each in paused.value.approvals] == [{"expression": "6*7"}]


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        pytest.param(
            '[tools]\nuse = ["calculator"]\nask = ["calculator", "send_*"]',
            "`tools.ask` has `send_*`, and no tool is called so. The tools are: calculator.",
            id="pattern",
        ),
        pytest.param(
            '[tools]\nask = ["Calculator"]',
            "`tools.ask` has `Calculator`, and no tool is called so. The tools are: "
            f"{', '.join(BUILTIN)}.",
            id="capital",
        ),
        pytest.param(
            '[tools]\nuse = []\nask = ["*"]',
            "`tools.ask` has `*`, and no tool is called so. The tools are: none.",
            id="no tools",
        ),
        pytest.param(
            '[hooks]\npre_tool_use = "before"',
            "The hook `before` is not written as `module:name`.",
            id="no module",
        ),
        pytest.param(
            '[hooks]\npost_tool_use = "own_hooks_for_test:gone"',
            "The hook `own_hooks_for_test:gone` cannot be imported: "
            "module 'own_hooks_for_test' has no attribute 'gone'.",
            id="no such name",
        ),
        pytest.param(
            '[hooks]\npre_tool_use = "own_hooks_for_test:text"',
            "The hook `own_hooks_for_test:text` is no function, but 'no function'.",
            id="no function",
        ),
        pytest.param(
            '[hooks]\npre_tool_use = ""', "The hook `` is not written as `module:name`.", id="empty"
        ),
    ],
)
@pytest.mark.usefixtures("own_hooks")
def test_a_wrong_hook_or_pattern_is_named(tmp_path: Path, table: str, fault: str) -> None:
    config = load_config(written(tmp_path, table), environ=KEY)

    with pytest.raises(ConfigError) as caught:
        config.agent()

    assert str(caught.value) == fault


def test_an_unknown_model_is_named_when_the_agent_is_made(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, "default_model = 'mian'"), environ={})

    with pytest.raises(ConfigError, match=r"^There is no model `mian`"):
        config.agent()


def test_a_key_is_in_no_text(tmp_path: Path) -> None:
    config: Config = load_config(written(tmp_path, WHOLE), environ=KEY)
    agent = config.agent()

    shown = f"{config!r} {config.file!r} {config.models!r} {config.settings!r} {agent.model!r}"

    assert "sk-secret" not in shown
