"""Posts requests to models' endpoints; OpenAI's own client takes five times the CPU for it."""

import asyncio
import io
import os
import ssl
import weakref
from collections.abc import Mapping
from functools import cache

import aiohttp
import httpx

from graph_agent.errors import ConfigError
from graph_agent.models.endpoint_error import EndpointError
from graph_agent.models.event_stream import EventStream, lost

JSON = {"Content-Type": "application/json"}
CONNECT_TIMEOUT = 30.0
"""Seconds to reach an endpoint."""
KEEP_ALIVE = 4.0
"""Seconds for which a connection is kept: less than what servers keep them for."""
CONNECTIONS = 1_000
"""At once, at most."""
LARGE_BODY = 2**20
"""Bytes from which a body is sent in pieces."""
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
"""Environment variables, in either case, that name a proxy."""


class Transport:
    """HTTP connections to the endpoint of one model, kept open between requests.

    Those of one event loop serve no other, so each loop has its own.
    """

    def __init__(self, headers: Mapping[str, str], *, timeout: float | None = None) -> None:
        """Open nothing yet.

        Args:
            headers: Of each request.
            timeout: Seconds without a byte after which a request is given up.
        """
        self._headers = {**headers, **JSON}
        self._timeout = timeout
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}

    async def post(self, url: str, content: bytes) -> bytes:
        """Return the body of the answer.

        Args:
            url: The whole address.
            content: JSON.

        Raises:
            EndpointError: The endpoint answered with an error status.
            ConnectionError: It cannot be reached, or the connection broke.
            TimeoutError: It fell silent.
        """
        try:
            async with await self._sent(url, content) as response:
                return await self._accepted(response)
        except aiohttp.ClientError as error:
            raise lost(error) from error

    async def stream(self, url: str, content: bytes) -> EventStream:
        """Return the stream that the answer is; raises as `post` does."""
        try:
            response = await self._sent(url, content)
            if response.status != httpx.codes.OK:
                async with response:
                    await self._accepted(response)
        except aiohttp.ClientError as error:
            raise lost(error) from error
        return EventStream(response)

    async def aclose(self) -> None:
        """Close the running loop's connections; the next request opens others."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _sent(self, url: str, content: bytes) -> aiohttp.ClientResponse:
        data = io.BytesIO(content) if len(content) > LARGE_BODY else content
        patience = aiohttp.ClientTimeout(sock_connect=CONNECT_TIMEOUT, sock_read=self._timeout)
        try:
            session = await self._session(url)
            return await session.post(url, data=data, timeout=patience)
        except ValueError as error:
            raise ConfigError(
                f"The request to {url} cannot be sent: {self._without_key(str(error))} Check the "
                "model's `base_url`, and the environment variable that holds its key."
            ) from None

    async def _accepted(self, response: aiohttp.ClientResponse) -> bytes:
        body = await response.read()
        if response.status >= httpx.codes.BAD_REQUEST:
            text = self._without_key(body.decode(errors="replace"))
            raise EndpointError.of(text, status_code=response.status, headers=response.headers)
        return body

    def _without_key(self, text: str) -> str:
        """Hide the key that some servers repeat."""
        key = self._headers.get("Authorization", "").removeprefix("Bearer ").strip()
        return text.replace(key, "***") if key else text

    async def _session(self, url: str) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if loop not in self._sessions:
            # Certificates take 20 ms to load. Where none are needed, whoever redirects to TLS is
            # refused.
            secure = url.lower().startswith("https")
            tls = (
                await asyncio.to_thread(httpx.create_ssl_context) if secure else _trusting_nobody()
            )
            if loop not in self._sessions:
                self._sessions[loop] = self._opened(tls)
        return self._sessions[loop]

    def _opened(self, tls: ssl.SSLContext) -> aiohttp.ClientSession:
        # A session keeps its loop alive, so those of loops that have ended are dropped.
        for ended in [known for known in self._sessions if known.is_closed()]:
            _drop(self._sessions.pop(ended))
        connector = _Connector(ssl=tls, limit=CONNECTIONS, keepalive_timeout=KEEP_ALIVE)
        proxied = any(os.environ.get(name) or os.environ.get(name.upper()) for name in PROXIES)
        session = aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            trust_env=proxied,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        # A process that closes nothing is left in peace as it ends.
        weakref.finalize(self, _drop, session)
        return session


class _Connector(aiohttp.TCPConnector):
    """Connections that are closed without a word where nobody has closed them."""

    def __del__(self, _warnings: object = None) -> None:
        """Leave them to the sockets' own end; aiohttp's would write to the log."""


def _drop(session: aiohttp.ClientSession) -> None:
    """Let go of what nobody can close any more: its loop has ended, or the process does."""
    session.detach()


@cache
def _trusting_nobody() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
