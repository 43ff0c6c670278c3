"""Which models may take over from one that fails, in which order, and after which failures."""

from collections.abc import Callable, Iterator, Sequence

from graph_agent.errors import (
    ConfigError,
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)

OWN_REFUSALS = {401, 402, 403, 404, 429}
"""HTTP statuses of a refusal that is about the key, the account or the model, not the request.

A 429 that was classified as a refusal says that the account is used up.
"""


def another_may_do(error: ModelError) -> bool:
    """Tell whether another model may answer the request that this error ended.

    A prompt that is too long, or a request that is wrong, is so for every model.
    """
    if isinstance(error, ContextOverflowError):
        return False
    if isinstance(error, ModelRefusedError):
        return error.status in OWN_REFUSALS
    return isinstance(error, ModelUnavailableError)


def fallback_order(name: str, fallbacks_of: Callable[[str], Sequence[str]]) -> list[str]:
    """List the models that take over from `name`: each fallback, then that one's own.

    Args:
        name: The model that is asked first.
        fallbacks_of: The fallbacks that a model names.

    Returns:
        Names, in the order in which they are asked, each once.

    Raises:
        ConfigError: A model is among its own fallbacks, or `fallbacks_of` knows no such model.

    >>> named = {"main": ["other", "small"], "other": ["third"], "small": ["third"], "third": []}
    >>> fallback_order("main", named.__getitem__)
    ['other', 'third', 'small']
    """
    return list(dict.fromkeys(_following((name,), fallbacks_of)))


def _following(
    path: tuple[str, ...], fallbacks_of: Callable[[str], Sequence[str]]
) -> Iterator[str]:
    for name in fallbacks_of(path[-1]):
        if name in path:
            circle = " → ".join([*path[path.index(name) :], name])
            raise ConfigError(
                f"The fallbacks of the models go round in a circle: {circle}. "
                "Take one of them out of `fallbacks` in graph-agent.toml."
            )
        yield name
        yield from _following((*path, name), fallbacks_of)
