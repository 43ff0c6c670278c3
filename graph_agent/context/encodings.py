"""Loads an encoding of tiktoken, which counts tokens exactly, where its file is on disk.

`tiktoken.get_encoding` downloads what is missing: without a time-out, on the thread that asks, and
at each call anew where there is no network. So it is never called: the file that it would have
cached is read here, and nothing here can ask the network.
"""

import base64
import logging
import os
import threading
from collections.abc import Callable, Mapping

import tiktoken

from graph_agent.context.encoding_file import O200K_BASE, EncodingFile

logger = logging.getLogger(__name__)
# A program that has set up no logging is not told: on a terminal it would stand amid the answer.
logger.addHandler(logging.NullHandler())


def load(
    file: EncodingFile = O200K_BASE, environ: Mapping[str, str] = os.environ
) -> tiktoken.Encoding | None:
    """Load the encoding, or warn and return None where its file is missing or wrong.

    It takes a third of a second, and no network.
    """
    try:
        ranks = _ranks(file, environ)
    except OSError as reason:
        logger.warning(
            "token counts are estimates, for %s. `graph-agent models --prefetch` brings the "
            "file for exact ones",
            reason,
        )
        return None
    # Without special tokens, text that spells one is text.
    return tiktoken.Encoding(
        file.name, pat_str=file.pattern, mergeable_ranks=ranks, special_tokens={}
    )


def _ranks(file: EncodingFile, environ: Mapping[str, str]) -> dict[bytes, int]:
    path = file.path(environ)
    if path is None:
        raise OSError("tiktoken's cache is switched off: TIKTOKEN_CACHE_DIR is empty")
    data = path.read_bytes()
    if not file.holds(data):
        raise OSError(f"{path} is not the file of {file.name}")
    pairs = (line.split() for line in data.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


class LazyEncoding:
    """An encoding that is loaded in a thread of its own, from when it is first wanted."""

    def __init__(self, loading: Callable[[], tiktoken.Encoding | None] = load) -> None:
        self._loading = loading
        self._thread = threading.Thread(target=self._load, name="token-encoding")
        self._beginning = threading.Lock()
        self._loaded: tiktoken.Encoding | None = None

    def now(self) -> tiktoken.Encoding | None:
        """Return it at once; None while it is loaded, and for good where it could not be."""
        if self._thread.ident is None:
            with self._beginning:
                if self._thread.ident is None:
                    self._thread.start()
        return self._loaded

    def wait(self) -> tiktoken.Encoding | None:
        """Return it once it is loaded; None where it could not be."""
        self.now()
        self._thread.join()
        return self._loaded

    def _load(self) -> None:
        self._loaded = self._loading()
