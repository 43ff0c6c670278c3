"""What can be said about each model that is set up, without a key."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from graph_agent.errors import ConfigError
from graph_agent.models.registry import ModelRegistry
from graph_agent.models.spec import ModelSpec


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One model of the list."""

    name: str
    default: bool
    """Whether it is used when nobody says."""
    provider: str
    model: str
    """The name that the endpoint knows."""
    address: str
    """The endpoint without what may be secret in it; empty means the provider's own."""
    abilities: list[str]
    context_size: int | None
    """Tokens of the window; None where the model cannot be set up."""
    max_output_tokens: int | None
    """Tokens a reply may take; None where the model cannot be set up."""
    hints: list[str]
    problem: str
    """Why it cannot be used as it is set up, or empty."""

    def columns(self) -> tuple[str, ...]:
        """Return what a table shows."""
        return (
            self.name,
            "default" if self.default else "",
            f"{self.provider}:{self.model}".rstrip(":"),
            self.address,
            ", ".join(self.abilities),
            f"{self.context_size:,}" if self.context_size else "",
            ", ".join(self.hints),
            self.problem,
        )


def model_rows(registry: ModelRegistry) -> list[ModelRow]:
    """Describe the default model and those of the config file, in the file's order."""
    default = _default(registry)
    names = list(registry.specs)
    if default is not None and default not in registry.specs:
        names.insert(0, default)
    return [_row(registry, name, default=name == default) for name in names]


def _default(registry: ModelRegistry) -> str | None:
    try:
        return registry.default()
    except ConfigError:
        # None is set up: the list itself says so.
        return None


def _row(registry: ModelRegistry, name: str, *, default: bool) -> ModelRow:
    spec, known, problem = ModelSpec(model=name), None, ""
    try:
        spec = registry.spec(name)
        known = registry.get(name)
    except ConfigError as error:
        problem = str(error)
    abilities = known.abilities.model_dump() if known else {}
    return ModelRow(
        name=name,
        default=default,
        provider=spec.provider,
        model=spec.model,
        address=_without_secrets(spec.base_url or ""),
        abilities=[ability for ability, able in abilities.items() if able],
        context_size=known.context_size if known else None,
        max_output_tokens=known.max_output_tokens if known else None,
        hints=spec.hints,
        problem=problem,
    )


def _without_secrets(url: str) -> str:
    """Leave a name, a password and a query out of an address.

    >>> _without_secrets("https://me:secret@host:8080/v1?key=secret")
    'https://host:8080/v1'
    """
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
