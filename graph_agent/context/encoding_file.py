"""The file of one of tiktoken's encodings: which one it is, and where tiktoken keeps it."""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class EncodingFile:
    """One encoding: how it cuts text into words, and the file of its tokens."""

    name: str
    pattern: str
    url: str
    sha256: str
    """Of the file; what is on disk under its name may be something else."""

    def path(self, environ: Mapping[str, str] = os.environ) -> Path | None:
        """Return where tiktoken keeps the file; None where its cache is switched off."""
        folder = environ.get("TIKTOKEN_CACHE_DIR", environ.get("DATA_GYM_CACHE_DIR"))
        if folder is None:
            folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
        file_name = hashlib.sha1(self.url.encode(), usedforsecurity=False).hexdigest()
        return Path(folder) / file_name if folder else None

    def holds(self, data: bytes) -> bool:
        """Tell whether these are the bytes of the file."""
        return hashlib.sha256(data).hexdigest() == self.sha256


O200K_BASE = EncodingFile(
    name="o200k_base",
    pattern="|".join(
        (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
    url="https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
    sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
"""Of GPT-4o and later; other models' tokenizers of 200,000 tokens come close to it."""
