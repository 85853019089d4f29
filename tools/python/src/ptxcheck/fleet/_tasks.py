"""One file of a fleet: from its bytes, or from the cache, to rows."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
import threading
import zlib
from contextlib import contextmanager
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from .._checker import Checker
from .._errors import CheckFailed, PtxcheckError, UsageError
from .._program import find_program
from .._report import Audit, Report, from_document
from .._settings import Settings
from ._digest import digest_of
from ._inputs import FleetInput, file_system
from ._rows import Row, rows_of, row_of_failure

FORMAT = 2
"""Version of the entries of the cache."""


@dataclass(frozen=True)
class Job:
    """What is done with each file."""

    method: str
    """`check` or `audit`."""
    options: tuple[str, ...] = ()
    """Options of the command."""
    cache: str | None = None
    """A folder with results of before; several runs may use it at once."""
    timeout: float = 600.0
    """Seconds that a file may take."""


@dataclass(frozen=True)
class Result:
    """The rows of a file, and whether they came out of the cache."""

    name: str
    rows: list[Row]
    is_cached: bool = False
    has_failed: bool = False


_checkers: dict[int, Checker] = {}
_lock = threading.Lock()


def _checker() -> Checker:
    """A checker of this process."""
    with _lock:
        return _checkers.setdefault(os.getpid(), Checker())


@lru_cache(maxsize=1)
def version() -> str:
    """The version of the program, as it says it: with those of what it reads LLVM IR with."""
    said = subprocess.run([find_program(), "--version"], capture_output=True, text=True, check=False)
    return said.stdout.strip()


def run_one(file: FleetInput, job: Job) -> Result:
    """Checks or audits a file.

    Raises:
        CheckFailed: the process that checks has gone; another try may do.
        UsageError: the options make no sense.
    """
    try:
        with _local_copy(file) as path:
            digest = digest_of(path)
            entry = _entry(file, digest, job)
            kept = None if entry is None else _cached(entry)
            if kept is not None:
                return Result(file.name, kept.rows_of(file.name), is_cached=True)
            document = _asked(path, job)
    except OSError as error:
        return failed(file, f"cannot read it: {error}")
    except (CheckFailed, UsageError):
        raise
    except PtxcheckError as error:
        return failed(file, str(error))
    return _finished(file, job, digest, _renamed(document, path, file.name))


def finished(file: FleetInput, job: Job, document: dict[str, Any]) -> Result:
    """The result of a file of this machine, from its report.

    Raises:
        OSError: the file is gone.
    """
    return _finished(file, job, digest_of(file.name), document)


def _finished(file: FleetInput, job: Job, digest: str, document: dict[str, Any]) -> Result:
    report = from_document(Audit if job.method == "audit" else Report, document)
    rows = rows_of(file.name, digest, report)
    entry = _entry(file, digest, job)
    if entry is not None:
        _keep(entry, Kept(file.name, rows, _digests(_sources(document))))
    return Result(file.name, rows)


def is_cached(file: FleetInput, job: Job) -> bool:
    """True if the cache has the result of a file of this machine.

    Raises:
        OSError: the file is gone.
    """
    entry = None if job.cache is None else _entry(file, digest_of(file.name), job)
    return entry is not None and _cached(entry) is not None


def _entry(file: FleetInput, digest: str, job: Job) -> Path | None:
    return None if job.cache is None else Path(job.cache) / _key(file.name, digest, job)


def failed(file: FleetInput, why: str) -> Result:
    """The result of a file that could not be checked: one row that says so."""
    return Result(file.name, [row_of_failure(file.name, why)], has_failed=True)


def _asked(path: str, job: Job) -> dict[str, Any]:
    checker = _checker()
    settings = Settings(options=job.options)
    report = (checker.audit if job.method == "audit" else checker.check)(path, settings, timeout=job.timeout)
    return report.document


@contextmanager
def _local_copy(file: FleetInput) -> Iterator[str]:
    """A path with the file's bytes."""
    if not file.is_remote:
        yield file.name
        return
    system, path = file_system(file.name)
    with tempfile.TemporaryDirectory(prefix="ptxcheck-") as folder:
        # The name tells what kind of package it is.
        copy = os.path.join(folder, os.path.basename(path))
        system.get_file(path, copy)
        yield copy


Renamed = TypeVar("Renamed", bound="dict[str, Any] | list[Row]")


def _renamed(content: Renamed, old: str, new: str) -> Renamed:
    """A document or rows with one name of the file in place of another: that of its copy, or the one that it had before."""
    if old == new:
        return content
    text = json.dumps(content)
    renamed: Renamed = json.loads(text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1]))
    return renamed


def _key(name: str, digest: str, job: Job) -> str:
    """The name of a cache entry: of the content, the name, which reports have, the settings, and the program."""
    configuration = [digest_of(path) for path in _configurations(job) if os.path.isfile(path)]
    parts = [FORMAT, version(), job.method, job.options, configuration, os.path.basename(name), digest]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _configurations(job: Job) -> list[str]:
    """Files that the options name, and the configuration above the working directory."""
    named = [option for option in job.options if os.path.isfile(option)]
    folders = [Path.cwd(), *Path.cwd().parents]
    return named + [str(folder / "ptxcheck.toml") for folder in folders if (folder / "ptxcheck.toml").is_file()][:1]


def _sources(document: dict[str, Any]) -> list[str]:
    """The sources that findings are in, which may hold exceptions."""
    files = set()
    for finding in document.get("findings", []):
        for place in [finding, *finding.get("places", [])]:
            source = place.get("source")
            if source:
                files.add(source["file"])
    return sorted(files)


def _digests(files: Iterable[str]) -> dict[str, str | None]:
    """The digests of files; `None` for those that are not there."""
    return {file: digest_of(file) if os.path.isfile(file) else None for file in files}


@dataclass(frozen=True)
class Kept:
    """An entry of the cache."""

    name: str
    """The name that the file had."""
    rows: list[Row]
    sources: dict[str, str | None]
    """Sources that were read, with their digests."""

    def rows_of(self, name: str) -> list[Row]:
        """The rows of a file with this content."""
        return _renamed(self.rows, self.name, name)


def _cached(entry: Path) -> Kept | None:
    try:
        kept = Kept(**json.loads(zlib.decompress(entry.read_bytes())))
        is_current = kept.sources == _digests(kept.sources)
    except (OSError, ValueError, TypeError, AttributeError, zlib.error):
        # An entry that is not there, or not whole, is made anew.
        return None
    return kept if is_current else None


def _keep(entry: Path, kept: Kept) -> None:
    """Writes an entry; another process may write or read it at the same time."""
    if any(row.get("code") in ("PTX903", "PTX904") for row in kept.rows):
        # Another run may have more time, or luck.
        return
    text = zlib.compress(json.dumps(vars(kept)).encode(), 1)
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=entry.parent, delete=False) as file:
            file.write(text)
        os.replace(file.name, entry)
    except OSError:
        # Without a cache, the next run takes longer.
        pass
