import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, cast

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, ValidationError

from graph_agent.errors import ConfigError
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.models.openai_profiles import openai_profile

Connect = Callable[..., Any]
pytestmark = pytest.mark.anyio

VARIABLES = ("OPENAI_API_BASE", "OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID")
URL = "http://127.0.0.1:9/v1"
CALL = {
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "Sum", "arguments": '{"of": [1, 2]}'}}
    ],
}


@pytest.fixture
def environ(clean_environ: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The same without what OpenAI's client would read besides."""
    for name in VARIABLES:
        clean_environ.delenv(name, raising=False)
    return clean_environ


@pytest.mark.parametrize(
    ("variables", "given", "address", "authorization"),
    [
        pytest.param(
            {"OPENAI_API_KEY": "sk-env"},
            {},
            "https://api.openai.com/v1",
            "Bearer sk-env",
            id="OpenAI's own",
        ),
        pytest.param(
            {"OPENAI_API_KEY": "sk-env", "OPENAI_BASE_URL": URL},
            {},
            URL,
            "Bearer sk-env",
            id="the environment's address",
        ),
        pytest.param(
            {"OPENAI_API_BASE": URL, "OPENAI_BASE_URL": "http://127.0.0.1:8/v1"},
            {"api_key": "sk-own"},
            URL,
            "Bearer sk-own",
            id="LangChain's variable first",
        ),
        pytest.param(
            {"OPENAI_API_KEY": "sk-env", "OPENAI_BASE_URL": "http://127.0.0.1:8/v1"},
            {"base_url": URL},
            URL,
            None,
            id="the environment's key goes to no other address",
        ),
        pytest.param(
            {"OPENAI_API_KEY": "sk-env"},
            {"base_url": URL, "api_key": "sk-own"},
            URL,
            "Bearer sk-own",
            id="all given",
        ),
    ],
)
def test_who_is_asked_with_which_key(
    environ: pytest.MonkeyPatch,
    variables: dict[str, str],
    given: dict[str, str],
    address: str,
    authorization: str | None,
) -> None:
    for name, value in variables.items():
        environ.setenv(name, value)

    chat = CompatibleChatModel(model="m", **given)

    assert (chat.base_url, chat.headers.get("Authorization")) == (address, authorization)


def test_without_a_key_openai_is_not_asked(environ: pytest.MonkeyPatch) -> None:
    environ.setenv("OPENAI_API_KEY", "")

    with pytest.raises(ConfigError, match=r"^The model `m` needs a key: set OPENAI_API_KEY\.$"):
        CompatibleChatModel(model="m")


def test_a_slash_at_the_end_of_an_address_makes_no_other_endpoint() -> None:
    plain, slashed = (CompatibleChatModel(model="m", base_url=url) for url in (URL, f"{URL}/"))

    assert plain.endpoint is slashed.endpoint


def test_a_model_of_ours_may_be_a_field_of_other_data() -> None:
    class Holder(BaseModel):
        chat: CompatibleChatModel

    chat = CompatibleChatModel(model="m", base_url=URL)

    assert Holder(chat=chat).chat is chat


async def test_what_else_is_sent_with_a_request(
    environ: pytest.MonkeyPatch, connect: Connect
) -> None:
    environ.setenv("OPENAI_ORG_ID", "org-1")
    environ.setenv("OPENAI_PROJECT_ID", "proj-1")
    chat, endpoint = connect(["hi"], default_headers={"X-Own": "yes", "Authorization": "Basic x"})

    await chat.ainvoke("Hello?")

    wanted = {
        "accept": "application/json",
        "authorization": "Basic x",
        "content-type": "application/json",
        "openai-organization": "org-1",
        "openai-project": "proj-1",
        "user-agent": f"graph-agent/{version('graph-agent')}",
        "x-own": "yes",
    }
    assert wanted.items() <= {k.lower(): v for k, v in endpoint.requests[0].headers.items()}.items()


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"temprature": "sk-secret"}, id="a misspelt one"),
        pytest.param({"streaming": "sk-secret"}, id="one of another class"),
        pytest.param({"seed": "sk-secret"}, id="of the wrong type"),
    ],
)
def test_a_setting_that_cannot_be_is_an_error_that_shows_no_value(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        CompatibleChatModel(model="m", base_url=URL, **given)

    assert next(iter(given)) in str(caught.value)
    assert "sk-secret" not in str(caught.value)


class Traced(BaseCallbackHandler):
    """Notes what tracers are told of a call."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.told.append({"serialized": serialized, **kwargs})


async def test_tracers_are_told_the_provider_and_the_model_and_no_key(connect: Connect) -> None:
    chat, _ = connect(
        ["hi"], temperature=0.5, max_tokens=9, default_headers={"api-key": "sk-header"}
    )
    traced = Traced()

    await chat.ainvoke("Hello?", {"callbacks": [traced]}, stop=["x"])

    (told,) = traced.told
    metadata = {k: v for k, v in told["metadata"].items() if k.startswith("ls_")}
    assert metadata == {
        "ls_provider": "openai",
        "ls_model_type": "chat",
        "ls_model_name": "fake",
        "ls_temperature": 0.5,
        "ls_max_tokens": 9,
        "ls_stop": ["x"],
        "ls_integration": "langchain_chat_model",
    }
    assert told["invocation_params"].items() >= {"model": "fake", "temperature": 0.5}.items()
    assert "sk-" not in str(told)


def test_keys_are_in_no_text() -> None:
    chat = CompatibleChatModel(
        model="m", base_url=URL, api_key="sk-secret", default_headers={"api-key": "sk-header"}
    )

    shown = f"{chat!r} {chat} {chat.model_dump()} {chat.model_dump_json()} {dumps(chat)}"

    assert "sk-" not in shown + str(chat.asdict())


@pytest.mark.parametrize("name", ["gpt-5-mini", "gpt-4.1", "gpt-5.5", "o3", "gpt-3.5-turbo"])
def test_profiles_are_those_of_langchain_openai(name: str) -> None:
    assert openai_profile(name) == ChatOpenAI(model=name, api_key="k").profile


def test_a_model_that_nobody_knows_has_no_profile() -> None:
    assert openai_profile("fake") is None


@pytest.mark.parametrize(
    ("settings", "temperature"),
    [
        pytest.param({"model": "gpt-5-mini"}, None, id="a model that refuses it"),
        pytest.param({"model": "gpt-5-mini", "reasoning_effort": "none"}, 0.5, id="no reasoning"),
        pytest.param({"model": "gpt-4.1"}, 0.5, id="a model that takes it"),
        pytest.param({"model": "unknown"}, 0.5, id="an unknown model"),
    ],
)
async def test_a_temperature_that_would_be_refused_is_not_sent(
    connect: Connect, settings: dict[str, Any], temperature: float | None
) -> None:
    chat, endpoint = connect(["hi"], temperature=0.5, **settings)

    await chat.ainvoke("Hello?")

    assert endpoint.requests[0].body.get("temperature") == temperature


class Sum(BaseModel):
    """Numbers to add."""

    of: list[int]


@tool
def ask() -> str:
    """Ask for more."""
    return ""


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        pytest.param(None, None, id="nothing"),
        pytest.param(False, None, id="no choice"),
        pytest.param("auto", "auto", id="auto"),
        pytest.param("none", "none", id="none"),
        pytest.param("any", "required", id="any"),
        pytest.param("required", "required", id="required"),
        pytest.param(True, "required", id="some tool"),
        pytest.param("Sum", {"type": "function", "function": {"name": "Sum"}}, id="by its name"),
        pytest.param(
            {"type": "function", "function": {"name": "ask"}},
            {"type": "function", "function": {"name": "ask"}},
            id="the wire's form",
        ),
    ],
)
async def test_tools_and_the_choice_of_one(connect: Connect, choice: Any, sent: Any) -> None:
    chat, endpoint = connect([CALL])

    bound = chat.bind_tools([Sum, ask], tool_choice=choice, strict=True, parallel_tool_calls=False)
    reply = await bound.ainvoke("1 + 2?")

    body = endpoint.requests[0].body
    assert body.get("tool_choice") == sent
    assert body["parallel_tool_calls"] is False
    assert [(t["function"]["name"], t["function"]["strict"]) for t in body["tools"]] == [
        ("Sum", True),
        ("ask", True),
    ]
    assert cast("AIMessage", reply).tool_calls[0]["args"] == {"of": [1, 2]}


@pytest.mark.parametrize("inside", [False, True], ids=["by itself", "inside a run"])
async def test_langchains_structured_output_works(connect: Connect, inside: bool) -> None:
    chat, _ = connect([CALL])
    chain = chat.with_structured_output(Sum)

    async def asked(messages: Sequence[BaseMessage]) -> Any:
        return await chain.ainvoke(messages)

    outer = RunnableLambda(asked) if inside else chain
    assert await outer.ainvoke([AIMessage("So?")]) == Sum(of=[1, 2])


LIGHT = """
import asyncio, sys
from graph_agent import ReActAgent
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.testing import StrictEndpoint

async def ask(url):
    chat = CompatibleChatModel(model="gpt-5-mini", base_url=url, api_key="k")
    async with ReActAgent(chat, database="memory:", synthesis="never") as agent:
        print((await agent.run("Hello?")).answer)

with StrictEndpoint(["hi"]) as endpoint:
    asyncio.run(ask(endpoint.base_url))
print(sorted({"openai", "langchain_openai", "jsonschema"} & sys.modules.keys()))
"""


def test_a_plain_answer_imports_neither_openais_client_nor_jsonschema() -> None:
    """They take a third of a second and 20 MB."""
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n[]\n", "")
