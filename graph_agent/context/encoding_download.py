"""Downloads the file of an encoding into tiktoken's cache, for whoever asks for it."""

import os
import uuid
from collections.abc import Mapping
from pathlib import Path

import httpx

from graph_agent.context.encoding_file import O200K_BASE, EncodingFile
from graph_agent.errors import ConfigError, ModelUnavailableError

PATIENCE = 30.0
"""Seconds without a byte after which a download is given up."""


def fetch(file: EncodingFile = O200K_BASE, environ: Mapping[str, str] = os.environ) -> Path:
    """Download the encoding into tiktoken's cache, unless it is there, and return its path.

    Raises:
        ModelUnavailableError: It cannot be had; the text says why.
        ConfigError: There is no folder to keep it in.
    """
    path = file.path(environ)
    if path is None:
        raise ConfigError("TIKTOKEN_CACHE_DIR is empty: name a folder there, or unset it.")
    try:
        if path.is_file() and file.holds(path.read_bytes()):
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(_downloaded(file), path)
    except OSError as error:
        raise ConfigError(
            f"The encoding {file.name} cannot be kept in {path.parent}: {error}. "
            "Name another folder in TIKTOKEN_CACHE_DIR."
        ) from error
    return path


def _downloaded(file: EncodingFile) -> bytes:
    try:
        answer = httpx.get(file.url, timeout=PATIENCE, follow_redirects=True).raise_for_status()
    # The last three: what the environment says of proxies and certificates is wrong.
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError, ImportError) as error:
        raise ModelUnavailableError(_not_had(file, str(error))) from error
    if not file.holds(answer.content):
        raise ModelUnavailableError(_not_had(file, "what came is another file"))
    return answer.content


def _not_had(file: EncodingFile, reason: str) -> str:
    return (
        f"The encoding {file.name} cannot be had from {file.url}: {reason}. Token counts stay "
        "estimates; try again when there is a network."
    )


def _write(data: bytes, path: Path) -> None:
    """Write a file that no reader ever finds half written."""
    staging = path.with_name(f"{path.name}.{uuid.uuid4()}.tmp")
    try:
        staging.write_bytes(data)
        staging.replace(path)
    finally:
        staging.unlink(missing_ok=True)
