"""What keeps other sites out, and untrusted text from running in the page."""

from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph_agent.server.problems import problem

SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
RAW_HEADERS = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]


class SecurityHeaders:
    """Adds the headers that keep untrusted text from running in the page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the headers to the response's start."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *RAW_HEADERS]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


class HostCheck:
    """Refuses requests for names that are not ours: another site may point its name at us."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if it names one of our hosts; `*` lets every name in."""
        app = self.app
        if scope["type"] != "lifespan" and "*" not in self.hosts:
            host = Headers(scope=scope).get("host", "")
            if _name(host) not in self.hosts:
                detail = f"This server does not answer for the host {host!r}."
                app = problem(HTTPStatus.MISDIRECTED_REQUEST, detail, "host")
        await app(scope, receive, send)


def _name(host: str) -> str | None:
    """Return a host header's name, without the port."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
