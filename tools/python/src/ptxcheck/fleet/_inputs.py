"""Files of a fleet: local ones, those of folders and lists, and those of any file system that fsspec knows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import PtxcheckError

SUFFIXES = (
    ".whl", ".conda", ".deb", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".so", ".a", ".o", ".obj",
    ".dll", ".exe", ".fatbin", ".cubin", ".ptx", ".ll", ".bc", ".mlir",
)  # fmt: skip
"""Files of folders that are taken; a version may follow `.so`."""

VERSIONED = re.compile(r"\.so(\.[0-9]+)+$")

URL = re.compile(r"^[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True, order=True)
class FleetInput:
    """A file: its path or address, as it is called in the table, and its bytes, as far as they are known before it is read."""

    name: str
    size: int | None = None

    @property
    def is_remote(self) -> bool:
        """True for what fsspec reads."""
        return URL.match(self.name) is not None


def find(named: Iterable[str]) -> list[FleetInput]:
    """The files that paths, folders, addresses and lists (`@FILE`, a name a line) stand for: each once, sorted by name.

    Raises:
        PtxcheckError: something named is not there, or fsspec is not installed and an address was named.
    """
    found: dict[str, FleetInput] = {}
    for one in _expanded(named, 0):
        found[one.name] = one
    return sorted(found.values())


def _expanded(named: Iterable[str], depth: int) -> Iterator[FleetInput]:
    for name in named:
        if name.startswith("@"):
            if depth > 0:
                raise PtxcheckError(f"the list `{name[1:]}` stands in a list")
            try:
                lines = Path(name[1:]).read_text().splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise PtxcheckError(f"the list `{name[1:]}` cannot be read: {error}") from error
            yield from _expanded((line for line in lines if line.strip()), depth + 1)
        elif URL.match(name):
            yield from _remote(name)
        else:
            yield from _local(name)


def is_device_file(name: str) -> bool:
    """True for a name that files with device code have."""
    return name.endswith(SUFFIXES) or VERSIONED.search(name) is not None


def _local(name: str) -> Iterator[FleetInput]:
    if os.path.isdir(name):
        for folder, folders, files in os.walk(name):
            folders.sort()
            for file in sorted(files):
                path = os.path.join(folder, file)
                if is_device_file(file) and os.path.isfile(path):
                    yield FleetInput(path, os.path.getsize(path))
    elif os.path.exists(name):
        yield FleetInput(name, os.path.getsize(name))
    else:
        raise PtxcheckError(f"there is no `{name}`")


def file_system(name: str) -> tuple[Any, str]:
    """The file system of an address, and the path there.

    Raises:
        PtxcheckError: fsspec, or what it needs for this kind of address, is not installed.
    """
    try:
        import fsspec  # type: ignore[import-untyped]

        system, path = fsspec.core.url_to_fs(name)
    except (ImportError, ValueError) as error:
        raise PtxcheckError(f"`{name}` cannot be read: {error}") from error
    return system, path


def _remote(name: str) -> Iterator[FleetInput]:
    system, path = file_system(name)
    try:
        if system.isdir(path):
            for one in sorted(system.find(path)):
                if is_device_file(one):
                    yield FleetInput(system.unstrip_protocol(one), system.size(one))
        else:
            yield FleetInput(name, system.size(path))
    except OSError as error:
        raise PtxcheckError(f"`{name}` cannot be read: {error}") from error
