"""Every setting by its name, with its default; read from keywords, a file or the environment."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)

from graph_agent.errors import ConfigError
from graph_agent.prompts import SYSTEM_PROMPT

ENV_PREFIX = "GRAPH_AGENT_"
NOT_SETTINGS = {"model", "config", "api_keys"}
"""Variables with the prefix that others read: the model's name, the file, the server's keys."""


def default_database() -> str:
    """Name the SQLite file in the user's data folder; nothing is created yet."""
    return f"sqlite:///{Path(platformdirs.user_data_dir('graph-agent')) / 'threads.sqlite'}"


class Settings(BaseModel):
    """What can be set, as one frozen value.

    In TOML the names stand below `[agent]`; in the environment `GRAPH_AGENT_<NAME>`;
    in Python they are keyword arguments.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_iterations: PositiveInt = 50
    """Model calls of the loop before the run must answer."""
    use_native_tools: bool = True
    """Use the provider's tool calling where the model has it; else JSON mode."""
    json_reasoning: Literal["auto", "first", "last", "off"] = "auto"
    """Where JSON mode asks for reasoning; `auto` leaves it out for small models."""
    synthesis: Literal["auto", "always", "never"] = "auto"
    """When a second call writes the answer; `auto` means after at least one tool."""
    synthesis_tool_result_chars: PositiveInt = 2000
    """Characters of each tool result that the synthesis reads."""
    tool_selection_threshold: PositiveInt = 12
    """Above this many tools, one call first selects some."""
    tool_selection_max: PositiveInt = 6
    """How many tools a selection may hold."""
    tool_timeout: PositiveFloat = 120.0
    """Seconds one tool call may take."""
    tool_concurrency: PositiveInt = 8
    """Tool calls of one reply that run at the same time."""
    repeated_calls_warn: PositiveInt = 3
    """Same call, same result: the model is warned at this count."""
    repeated_calls_stop: PositiveInt = 5
    """Same call, same result: the run stops at this count."""
    self_reflection_interval: NonNegativeInt = 6
    """Tool iterations between two reminders of the goal; 0 means never."""
    completion_check_min_tools: NonNegativeInt = 3
    """Tool iterations from which an answer is checked for completeness; 0 means never."""
    system_prompt: str = SYSTEM_PROMPT
    """Who the agent is; the first thing a model reads."""
    context_size: PositiveInt | None = None
    """Tokens of the model's window; None means the model's own, else 128,000."""
    max_output_tokens: PositiveInt | None = None
    """Tokens a reply may take; None means the model's own, else 64,000."""
    compaction: Literal["auto", "trim", "summarize", "off"] = "auto"
    """How a history over the budget is made smaller."""
    keep_last_messages: PositiveInt = 10
    """Messages that trimming always keeps, besides the first question."""
    max_message_tokens: PositiveInt | None = None
    """Tokens one message may take; None means a quarter of the budget."""
    compaction_target: float = Field(default=0.6, gt=0, le=1)
    """Share of the budget that a compaction aims for."""
    pinned_share: float = Field(default=0.5, gt=0, le=1)
    """Share of the budget that pinned messages may take."""
    model_timeout: PositiveFloat = 300.0
    """Seconds one model call may take."""
    stream_idle_timeout: PositiveFloat = 60.0
    """Seconds a stream may be silent."""
    max_retries: NonNegativeInt = 4
    """Further tries of a model call after a passing fault."""
    retry_deadline: PositiveFloat = 120.0
    """Seconds after which no further try starts."""
    run_timeout: PositiveFloat | None = None
    """Seconds one run may take."""
    max_total_tokens: PositiveInt | None = None
    """Tokens one run may use."""
    max_cost: PositiveFloat | None = None
    """Money one run may cost, in the currency of the models' prices."""
    on_disconnect: Literal["continue", "cancel"] = "continue"
    """What a run does when its client goes away."""
    database: str = Field(default_factory=default_database, repr=False)
    """Where threads live: `sqlite:///…`, `postgresql://…` or `memory:`; may hold a password."""
    durability: Literal["async", "sync"] = "async"
    """Whether a step waits until the step before it is saved."""

    @classmethod
    def load(
        cls,
        environ: Mapping[str, str] = os.environ,
        *,
        file: Mapping[str, object] | None = None,
        keywords: Mapping[str, object] | None = None,
    ) -> Self:
        """Join a file's settings, the environment's and keywords; the later ones win.

        Raises:
            ConfigError: A setting is misspelt or its value does not fit.
        """
        named = {
            name.removeprefix(ENV_PREFIX).lower(): value
            for name, value in environ.items()
            if name.startswith(ENV_PREFIX)
        }
        found = {name: value for name, value in named.items() if name not in NOT_SETTINGS}
        file, keywords = file or {}, keywords or {}
        cls.checked(file, source="`[agent]` of the config file")
        cls.checked(found, source="the environment", spell=_variable)
        return cls.checked({**file, **found, **keywords}, source="the settings")

    @classmethod
    def checked(
        cls, values: Mapping[str, object], *, source: str, spell: Callable[[str], str] = str
    ) -> Self:
        """Validate `values`, and name `source` and each wrong setting in the error.

        Raises:
            ConfigError: A setting is misspelt or its value does not fit.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(describe(error, source=source, spell=spell)) from error


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Choices for one run: what a Studio user or a caller may change without a new agent."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(use_attribute_docstrings=True)

    model: str | None = None
    """A model of the registry by its name; None means the agent's own."""
    max_iterations: int | None = None
    """Model calls of the loop before the run must answer."""
    use_native_tools: bool | None = None
    """False puts the run into JSON mode."""
    synthesis: Literal["auto", "always", "never"] | None = None
    """When a second call writes the answer."""
    response_format: dict[str, Any] | None = field(default=None, hash=False)
    """A JSON schema of an object: the answer is also given as data that fit it."""


def describe(error: ValidationError, *, source: str, spell: Callable[[str], str] = str) -> str:
    """Put a validation error into one line a person can act on, without the values.

    Args:
        error: What pydantic found.
        source: Where the values stand.
        spell: How a name is written there.
    """
    faults = "; ".join(
        f"`{spell('.'.join(map(str, fault['loc'])))}`: {_reason(fault['type'], fault['msg'])}"
        for fault in error.errors(include_url=False, include_context=False)
    )
    return f"In {source}: {faults}. Correct it and start again."


def _variable(name: str) -> str:
    return ENV_PREFIX + name.upper()


def _reason(kind: str, message: str) -> str:
    return "there is no such setting" if kind == "extra_forbidden" else message.lower()
