"""What a fake endpoint remembers of a request."""

from dataclasses import dataclass, field
from threading import Event
from typing import Self

from graph_agent.testing.admission import Admitted
from graph_agent.testing.replies import Json


@dataclass(kw_only=True)
class Recorded:
    """One request for a completion, as it arrived."""

    body: Json
    """The parsed body; empty where it was no JSON object."""
    raw: bytes
    """The body's bytes."""
    headers: dict[str, str]
    """Names in lower case."""
    streamed: bool
    """Whether it asked for a stream."""
    tokens: int
    """Size of the prompt, as the endpoint counted it; 0 where a rule refused it."""
    rejected: str | None
    """Why it was refused, or None."""
    malformed: bool
    """Whether it was refused for breaking the protocol, which is always the client's fault."""
    left: Event = field(default_factory=Event)
    """Set once the client was seen to close the connection while a reply was held back."""

    @classmethod
    def of(cls, raw: bytes, headers: dict[str, str], admitted: Admitted) -> Self:
        """Take a request down together with the decision on it."""
        refusal = admitted.refusal
        return cls(
            body=admitted.body,
            raw=raw,
            headers=headers,
            streamed=bool(admitted.body.get("stream")),
            tokens=admitted.tokens,
            rejected=None if refusal is None else refusal.message,
            malformed=refusal is not None and refusal.malformed,
        )
