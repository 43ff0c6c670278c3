"""What a model's tokens cost."""

from dataclasses import dataclass

from graph_agent.state import Usage

MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Money per million tokens, in any one currency."""

    input: float
    """Of a prompt."""
    output: float
    """Of a reply."""
    cached: float
    """Of the part of a prompt that the endpoint had cached."""

    def cost(self, used: Usage) -> float:
        """Return what these tokens cost.

        >>> used = Usage(input_tokens=900_000, output_tokens=50_000, cached_tokens=400_000, calls=7)
        >>> Prices(input=1.0, output=10.0, cached=0.1).cost(used)
        1.04
        """
        fresh = used["input_tokens"] - used["cached_tokens"]
        money = (
            fresh * self.input
            + used["cached_tokens"] * self.cached
            + used["output_tokens"] * self.output
        )
        return money / MILLION
