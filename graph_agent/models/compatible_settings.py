"""What a chat model for OpenAI-compatible endpoints is told: address, key, and parameters."""

import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from langchain_core.language_models import BaseChatModel, LangSmithParams, ModelProfile
from langchain_core.utils import from_env
from pydantic import ConfigDict, Field, SecretStr, model_validator

from graph_agent.errors import ConfigError
from graph_agent.models.openai_profiles import openai_profile

OPENAI_ADDRESS = "https://api.openai.com/v1"
ADDRESS_VARIABLES = ("OPENAI_API_BASE", "OPENAI_BASE_URL")
PARAMETERS = (
    "temperature",
    "max_tokens",
    "top_p",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "reasoning_effort",
    "stop",
    "extra_body",
)
"""Fields that each request says; None leaves them to the endpoint."""


class CompatibleSettings(BaseChatModel):
    """The settings of one model at one address, by the names that `ChatOpenAI` takes."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    model: str
    """The name that the endpoint knows."""
    base_url: str = ""
    """Up to and with `/v1`; by default what OPENAI_BASE_URL says, else OpenAI's."""
    api_key: SecretStr | None = None
    """By default OPENAI_API_KEY, which goes to that default address and to no other."""
    organization: str | None = Field(
        default_factory=from_env(["OPENAI_ORG_ID", "OPENAI_ORGANIZATION"], default=None)
    )
    """Who pays, where a key belongs to several."""
    project: str | None = Field(default_factory=from_env("OPENAI_PROJECT_ID", default=None))
    """The project of OpenAI's platform."""
    default_headers: dict[str, str] = Field(default_factory=dict, repr=False, exclude=True)
    """Further headers of each request; they may hold keys."""
    timeout: float | None = None
    """Seconds without a byte after which a request is given up; None waits."""
    stream_idle_timeout: float = 60.0
    """Seconds a stream may be silent."""
    wire: dict[str, Any] = Field(default_factory=dict)
    """Flags of `WireRules` that the config file sets."""
    temperature: float | None = None
    max_tokens: int | None = None
    """Tokens a reply may take."""
    top_p: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    reasoning_effort: str | None = None
    stop: list[str] | str | None = None
    """Texts at which a reply ends."""
    extra_body: dict[str, Any] | None = None
    """Any further parameters of a request; they win."""

    @model_validator(mode="before")
    @classmethod
    def _addressed(cls, given: Any) -> Any:
        """Fill in the address, and its key where the address is not given.

        Raises:
            ConfigError: There is no key.
        """
        if isinstance(given, cls) or given.get("base_url"):
            return given
        named = next(filter(None, map(os.environ.get, ADDRESS_VARIABLES)), OPENAI_ADDRESS)
        key = given.get("api_key") or os.environ.get("OPENAI_API_KEY")
        if not key:
            raise ConfigError(f"The model `{given.get('model')}` needs a key: set OPENAI_API_KEY.")
        return {**given, "base_url": named, "api_key": key}

    @property
    def model_name(self) -> str:
        """The model's name, as LangChain's tools look for it."""
        return self.model

    @property
    def parameters(self) -> dict[str, Any]:
        """What each request says besides its messages."""
        said = {name: getattr(self, name) for name in PARAMETERS}
        if self.reasoning_effort != "none" and (self.profile or {}).get("temperature") is False:
            # Known to be refused: a model that reasons chooses its own.
            said["temperature"] = None
        return {"model": self.model} | {k: v for k, v in said.items() if v is not None}

    @property
    def headers(self) -> dict[str, str]:
        """Headers of each request; they hold the key."""
        key = self.api_key.get_secret_value() if self.api_key else ""
        said = {
            "Accept": "application/json",
            "User-Agent": user_agent(),
            "Authorization": key and f"Bearer {key}",
            "OpenAI-Organization": self.organization,
            "OpenAI-Project": self.project,
        }
        return {name: value for name, value in said.items() if value} | self.default_headers

    @property
    def _llm_type(self) -> str:
        return "openai-chat"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"model_name": self.model, "base_url": self.base_url, **self.parameters}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return {**super()._get_ls_params(stop=stop, **kwargs), "ls_provider": "openai"}

    def _resolve_model_profile(self) -> ModelProfile | None:
        return openai_profile(self.model)


@cache
def user_agent() -> str:
    """Name this package and its version, as endpoints see it."""
    return f"graph-agent/{version('graph-agent')}"
