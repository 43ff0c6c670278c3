"""What an endpoint answers where it does not answer what it was asked."""

import json
from collections.abc import Mapping
from typing import Any

IN_STREAM = "An error occurred during streaming."


class EndpointError(Exception):
    """An answer with an error status, or an error amid a stream.

    Attributes:
        message: The server's words.
        status_code: The HTTP status; None amid a stream.
        body: What the server said of it, as data where it is JSON.
        code: The server's short name for it.
        type: The server's name for its kind.
        headers: Those of the response.
    """

    def __init__(
        self, body: object, *, status_code: int | None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.body = body.get("error", body) if isinstance(body, dict) else body
        details: Mapping[str, Any] = self.body if isinstance(self.body, dict) else {}
        said = details.get("message") or self.body
        self.message = said if isinstance(said, str) and said else json.dumps(said, default=str)
        self.status_code = status_code
        self.code, self.type = details.get("code"), details.get("type")
        self.headers = headers or {}
        super().__init__(self.message)

    @classmethod
    def of(cls, text: str, *, status_code: int, headers: Mapping[str, str]) -> "EndpointError":
        """Read what came with an error status."""
        try:
            body = json.loads(text)
        except ValueError:
            body = text.strip()
        return cls(body, status_code=status_code, headers=headers)
