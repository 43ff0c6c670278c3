"""What is known about a model before it is asked: where it is and what it can do."""

import re
from typing import Any, Self

from langchain_core.language_models import BaseChatModel
from pydantic import (
    BaseModel,
    ConfigDict,
    NonNegativeFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from graph_agent.models.prices import Prices
from graph_agent.models.wire_rules import WireRules, checked_rules

LOCAL = "local"
"""The provider that runs inside this process."""
PROVIDERS = {
    "anthropic",
    "anthropic_bedrock",
    "azure_ai",
    "azure_openai",
    "baseten",
    "bedrock",
    "bedrock_converse",
    "bedrock_mantle_anthropic",
    "bedrock_mantle_openai",
    "cohere",
    "deepseek",
    "fireworks",
    "google_anthropic_vertex",
    "google_genai",
    "google_vertexai",
    "groq",
    "huggingface",
    "ibm",
    "langsmith",
    "litellm",
    "local",
    "meta",
    "mistralai",
    "nvidia",
    "ollama",
    "openai",
    "openrouter",
    "perplexity",
    "together",
    "upstage",
    "xai",
}
"""What may stand before the colon of `provider:model`; other names keep their colon."""
DEFAULT_CONTEXT_SIZE = 128_000
"""Tokens, where nothing better is known."""
DEFAULT_MAX_OUTPUT_TOKENS = 64_000
"""Tokens, where nothing better is known."""
SMALL_MODEL_BILLIONS = 8.0
"""Parameters, in billions, up to which a model is treated as small."""


class Abilities(BaseModel):
    """What a model's endpoint is able to do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool_call: bool = True
    """Takes tools and returns calls by the API."""
    json_mode: bool = True
    """Takes `response_format` of type `json_object`."""
    json_schema: bool = False
    """Takes `response_format` of type `json_schema`."""
    reasoning: bool = False
    """Thinks before it answers, apart from the answer."""
    vision: bool = False
    """Reads images."""

    def within(self, rules: WireRules) -> Self:
        """Take away what the endpoint was found not to take."""
        update = {
            "tool_call": self.tool_call and rules.tools,
            "json_mode": self.json_mode and rules.json_object,
            "json_schema": self.json_schema and rules.json_schema,
            "vision": self.vision and rules.images,
        }
        return self.model_copy(update=update)

    @classmethod
    def of(cls, chat: BaseChatModel) -> Self:
        """Read LangChain's model profile; without one, assume tools if the class binds them."""
        profile = chat.profile
        if profile is None:
            binds = type(chat).bind_tools is not BaseChatModel.bind_tools
            return cls(tool_call=binds, json_mode=False)
        structured = bool(profile.get("structured_output", False))
        return cls(
            tool_call=bool(profile.get("tool_calling", True)),
            json_mode=structured,
            json_schema=structured,
            reasoning=bool(profile.get("reasoning_output", False)),
            vision=bool(profile.get("image_inputs", False)),
        )


class PartialAbilities(BaseModel):
    """What a config file says about abilities; the rest comes from the profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool_call: bool | None = None
    json_mode: bool | None = None
    json_schema: bool | None = None
    reasoning: bool | None = None
    vision: bool | None = None

    def over(self, known: Abilities) -> Abilities:
        """Put what is said here over what is known."""
        return known.model_copy(update=self.model_dump(exclude_none=True))


class ModelSpec(BaseModel):
    """One `[models.<name>]` table of the config file."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    provider: str = "openai"
    """A provider that LangChain's init_chat_model knows, or `local`."""
    model: str = ""
    """The name that the endpoint knows; for `local` a path to a GGUF file, or empty."""
    base_url: str | None = None
    """An OpenAI-compatible endpoint, up to and with `/v1`."""
    api_key_env: str | None = None
    """The environment variable that holds the key."""
    temperature: float | None = None
    """None leaves it to the endpoint."""
    abilities: PartialAbilities = PartialAbilities()
    context_size: PositiveInt | None = None
    """Tokens of the window."""
    max_output_tokens: PositiveInt | None = None
    """Tokens a reply may take."""
    wire: dict[str, Any] = {}
    """Flags of `WireRules`, where the endpoint wants another form than its server usually does."""
    hints: list[str] = []
    """What it is good for: `fast`, `reasoning`, …"""
    fallbacks: list[str] = []
    """Models to ask, in order, when this one keeps failing."""
    input_price: NonNegativeFloat | None = None
    """Money per million tokens of a prompt; any currency, the same for all models."""
    output_price: NonNegativeFloat | None = None
    """Money per million tokens of a reply."""
    cached_price: NonNegativeFloat | None = None
    """Money per million tokens of a prompt that the endpoint had cached; None: `input_price`."""

    @property
    def prices(self) -> Prices | None:
        """What its tokens cost, where that is said."""
        if self.input_price is None or self.output_price is None:
            return None
        cached = self.input_price if self.cached_price is None else self.cached_price
        return Prices(input=self.input_price, output=self.output_price, cached=cached)

    @field_validator("wire")
    @classmethod
    def _is_known(cls, wire: dict[str, Any]) -> dict[str, Any]:
        return checked_rules(wire)

    @model_validator(mode="after")
    def _is_named(self) -> Self:
        if not self.model and self.provider != LOCAL:
            raise ValueError("`model` is missing: the name that the endpoint knows")
        return self

    @model_validator(mode="after")
    def _is_priced_in_full(self) -> Self:
        prices = (self.input_price, self.output_price, self.cached_price)
        if self.prices is None and any(price is not None for price in prices):
            raise ValueError("prices come together: give `input_price` and `output_price`")
        return self


def is_small(model: str) -> bool:
    """Tell from its name whether a model has few parameters.

    >>> is_small("qwen2.5-1.5b-instruct"), is_small("llama-3.3-70b"), is_small("gpt-5-mini")
    (True, False, False)
    """
    sizes = re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z0-9])", model.lower())
    return bool(sizes) and float(sizes[-1]) <= SMALL_MODEL_BILLIONS
