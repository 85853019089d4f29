"""Digests of files."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache

LARGE_BYTES = 16 << 20
"""Digests of files from this size on are kept while the process runs, as long as the file has the same size and time of change."""


def digest_of(path: str) -> str:
    """The SHA-256 of a file, as hex digits.

    Raises:
        OSError: it cannot be read.
    """
    about = os.stat(path)
    if about.st_size < LARGE_BYTES:
        return _digest_now(path)
    return _digest_of_state(path, about.st_size, about.st_mtime_ns, about.st_ino)


@lru_cache(maxsize=65_536)
def _digest_of_state(path: str, size: int, time: int, number: int) -> str:
    return _digest_now(path)


def _digest_now(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
