"""What is passed into the nodes when the graph is built, and what one run makes of it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from langgraph.runtime import Runtime

from graph_agent.backends.saved_steps import SavedSteps
from graph_agent.context.budget import message_cap, nominal_budget, prompt_budget
from graph_agent.context.prompt import prompt_of
from graph_agent.context.view import Caps
from graph_agent.errors import ConfigError
from graph_agent.event_sink import options_of
from graph_agent.hooks import Hooks
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.registry import ModelRegistry
from graph_agent.protocols import TurnProtocol
from graph_agent.protocols.json_mode import JsonModeProtocol, Reasoning
from graph_agent.protocols.native import NativeProtocol
from graph_agent.settings import RunOptions, Settings
from graph_agent.state import AgentState
from graph_agent.structured import Schema
from graph_agent.tools.registry import ToolRegistry

ProtocolKey = tuple[bool, tuple[str, ...], str]


@dataclass(frozen=True, kw_only=True)
class Deps:
    """Model, tools and settings; shared by all runs of a graph."""

    model: LanguageModel
    tools: ToolRegistry
    settings: Settings
    models: ModelRegistry | None = None
    """Where a run finds another model by name."""
    fast_model: LanguageModel | None = None
    """Selects tools and summarises; None means the model in use."""
    response_format: Schema | None = None
    """What form every run's answer is given in as data, besides the text; None means none."""
    hooks: Hooks = field(default_factory=Hooks)
    """What the host says about tool calls."""
    steps: SavedSteps | None = None
    """Which steps are saved; None where the checkpointer does not tell."""
    now: Callable[[], float] = time.time
    """Unix time in seconds."""
    _protocols: dict[ProtocolKey, TurnProtocol] = field(default_factory=dict)
    _options: RunOptions = field(default_factory=RunOptions)
    """The choices that are applied already."""
    _runs: "dict[RunOptions, Deps]" = field(default_factory=dict)
    _left: tuple[LanguageModel, ...] | None = None
    """Fallbacks after the one in use; None where none is in use."""
    _switched: "dict[str, Deps]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Expect prices where money is limited.

        Raises:
            ConfigError: A model that may be asked has none.
        """
        if self.settings.max_cost is not None:
            for model in (self.model, *self.fallbacks, self.fast_model or self.model):
                _expect_prices(model)

    def for_run(self, runtime: Runtime[RunOptions]) -> "Deps":
        """Apply the choices of one run; made once for each set of choices."""
        options = options_of(runtime)
        if options.response_format is not None:
            # It changes nothing here, and each run may bring one of its own.
            options = replace(options, response_format=None)
        if options == self._options:
            return self
        if options not in self._runs:
            self._runs[options] = self._with(options)
        return self._runs[options]

    def _with(self, options: RunOptions) -> "Deps":
        names = ("max_iterations", "use_native_tools", "synthesis")
        chosen = {name: getattr(options, name) for name in names}
        given = {name: value for name, value in chosen.items() if value is not None}
        models = self.models or ModelRegistry()
        return replace(
            self,
            model=models.get(options.model) if options.model else self.model,
            settings=Settings.checked(
                self.settings.model_dump() | given, source="the run's options"
            ),
            _protocols={},
            _options=options,
            _runs={},
            _switched={},
        )

    @property
    def fallbacks(self) -> tuple[LanguageModel, ...]:
        """The models that may still take over, in order."""
        return self.model.fallbacks if self._left is None else self._left

    def using(self, fallback: str | None) -> "Deps":
        """Put the fallback of that name in the model's place; made once for each.

        None, and a name that is no fallback any more since the setup was changed, change nothing.
        """
        names = [model.name for model in self.fallbacks]
        if fallback is None or fallback not in names:
            return self
        if fallback not in self._switched:
            place = names.index(fallback)
            self._switched[fallback] = replace(
                self,
                model=self.fallbacks[place],
                _left=self.fallbacks[place + 1 :],
                _protocols={},
                _switched={},
            )
        return self._switched[fallback]

    def in_use(self, state: AgentState, runtime: Runtime[RunOptions]) -> "Deps":
        """Apply a run's choices, and the fallback model that took over in it."""
        switched = state.turn.get("switched")
        return self.for_run(runtime).using(switched["model"] if switched else None)

    @property
    def native(self) -> bool:
        """Whether tools are offered by the provider's API: wished for, and able."""
        return self.settings.use_native_tools and self.model.abilities.tool_call

    @property
    def budget(self) -> int:
        """Tokens that a prompt may take."""
        return prompt_budget(self.model, self.settings)

    @cached_property
    def caps(self) -> Caps:
        """Tokens that parts of a prompt may take; the same all the time, as prompts grow."""
        budget = nominal_budget(self.model, self.settings)
        pinned = int(budget * self.settings.pinned_share)
        return Caps(message=message_cap(budget, self.settings), pinned=pinned)

    def protocol(self, state: AgentState) -> TurnProtocol:
        """Return how the model is asked, with the tools on offer; made once for each set."""
        system = self._system(state)
        key = (self.native, tuple(state.selected_tools), system)
        if key not in self._protocols:
            self._protocols[key] = self._make_protocol(state.selected_tools, system)
        return self._protocols[key]

    def _make_protocol(self, names: list[str], system: str) -> TurnProtocol:
        if self.native:
            return NativeProtocol(system, self.tools, names)
        return JsonModeProtocol(system, self.tools, names, reasoning=self._json_reasoning())

    def _json_reasoning(self) -> Reasoning:
        wanted = self.settings.json_reasoning
        if wanted == "auto":
            return "off" if self.model.small else "first"
        return wanted

    def _system(self, state: AgentState) -> str:
        """Join our system prompt and a caller's system messages: endpoints take only one."""
        further = prompt_of(state, self.caps).system
        return "\n\n".join([self.settings.system_prompt, *further])


def _expect_prices(model: LanguageModel) -> None:
    if model.prices is None:
        raise ConfigError(
            f"`max_cost` needs the prices of the model `{model.name}`: add `input_price` and "
            f"`output_price`, money per million tokens, to `[models.{model.name}]`, or take "
            "`max_cost` out."
        )
