"""HTTP clients for endpoints without TLS: they load no certificates, which takes 20 ms each."""

import ssl
from functools import cache
from typing import Any

import openai


def client_options(base_url: str | None) -> dict[str, Any]:
    """Return what an HTTP client for that address is made with.

    >>> client_options("https://example.org/v1")
    {}
    """
    return {"verify": _trusting_nobody()} if _is_plain(base_url) else {}


def clients_for(base_url: str | None, *, proxy: str | None) -> dict[str, Any]:
    """Return the clients that a chat model is given; none where its own default has to do.

    Args:
        base_url: The endpoint's address.
        proxy: A proxy that langchain-openai is told of; it then makes its clients by itself.
    """
    if proxy or not _is_plain(base_url):
        return {}
    options = client_options(base_url)
    return {
        "http_client": openai.DefaultHttpxClient(**options),
        "http_async_client": openai.DefaultAsyncHttpxClient(**options),
    }


def _is_plain(base_url: str | None) -> bool:
    return base_url is not None and base_url.lower().startswith("http://")


@cache
def _trusting_nobody() -> ssl.SSLContext:
    """Make a context without certificates: whoever is redirected to TLS is refused."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
