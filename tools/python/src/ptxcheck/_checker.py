"""Checks, audits and comparisons, by processes that stay up."""

from __future__ import annotations

import asyncio
import atexit
import io
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Union

from ._errors import CheckFailed
from ._program import find_program
from ._report import Audit, Diff, Report, from_document
from ._seconds import check_seconds
from ._settings import Settings
from ._worker import Source, Worker

Path = Union[str, "os.PathLike[str]"]
One = Union[bytes, bytearray, memoryview, Path, "tuple[str, bytes]"]
Inputs = Union[One, "Iterable[One]"]


class Checker:
    """Checks by processes that stay up, for many calls; any number of threads may call it at once.

    Each call that runs at the same time as another has a process of its own, up to `processes` of them; others wait for one. A process
    costs about 20 ms to start and is kept.
    """

    def __init__(self, *, program: Path | None = None, processes: int | None = None) -> None:
        """`program`: another program than the installed one. `processes`: at most so many; one a core without it.

        Raises:
            ProgramNotFound: there is no program.
        """
        self._program = find_program() if program is None else os.fspath(program)
        self._slots = threading.BoundedSemaphore(max(1, processes or os.cpu_count() or 1))
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._is_closed = False
        self._process_id = os.getpid()

    def check(
        self, inputs: Inputs, settings: Settings | None = None, *, timeout: float | None = None
    ) -> Report:
        """Checks device code: PTX, LLVM IR, objects, libraries, packages, folders.

        `inputs`: bytes, a pair of a name and bytes, a path, or several of these; bytes without a name are called `input`, and
        several of them `input 1` and so on. A str is a path, and no text. `timeout`: seconds for all of it; what is not checked by then is
        a finding (PTX903).

        Raises:
            TypeError: an input is something else.
            ValueError: a timeout is not above 0, or not finite.
            UsageError: the settings make no sense.
            CheckFailed: no answer came.
        """
        return from_document(Report, self._ask("check", _sources(inputs), settings, timeout))

    def audit(
        self, inputs: Inputs, settings: Settings | None = None, *, timeout: float | None = None
    ) -> Audit:
        """Audits the images of files, as `ptxcheck audit`; the policy is that of the configuration and of `Settings.options`.

        Raises as `check` does.
        """
        return from_document(Audit, self._ask("audit", _sources(inputs), settings, timeout))

    def diff(
        self, old: Path, new: Path, settings: Settings | None = None, *, timeout: float | None = None
    ) -> Diff:
        """Compares the kernels of two releases: files, packages or folders.

        Raises as `check` does, and CheckFailed where a release holds no device code.
        """
        sources = [Source(os.fspath(path), None) for path in (old, new)]
        return from_document(Diff, self._ask("diff", sources, settings, timeout))

    async def check_async(
        self, inputs: Inputs, settings: Settings | None = None, *, timeout: float | None = None
    ) -> Report:
        """The same as `check`, for asyncio: the event loop goes on meanwhile."""
        return await asyncio.to_thread(self.check, inputs, settings, timeout=timeout)

    def close(self) -> None:
        """Ends the processes that are idle; those that answer a call end after it."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def __enter__(self) -> Checker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(
        self, method: str, sources: list[Source], settings: Settings | None, timeout: float | None
    ) -> dict[str, object]:
        check_seconds("timeout", timeout)
        if settings is not None and not isinstance(settings, Settings):
            raise TypeError(f"settings are ptxcheck.Settings(…), and no {type(settings).__name__}")
        options = (settings or Settings()).to_options()
        with self._worker() as worker:
            return worker.request(method, options, sources, timeout)

    @contextmanager
    def _worker(self) -> Iterator[Worker]:
        self._after_fork()
        with self._slots:
            with self._lock:
                if self._is_closed:
                    raise CheckFailed("the checker is closed")
                worker = self._idle.pop() if self._idle else None
            if worker is None or not worker.is_alive:
                worker = Worker(self._program)
            try:
                yield worker
            finally:
                with self._lock:
                    keep = worker.is_alive and not self._is_closed
                    if keep:
                        self._idle.append(worker)
                if not keep:
                    worker.close()

    def _after_fork(self) -> None:
        """A process that was forked has no right to the pipes of its parent."""
        if self._process_id != os.getpid():
            self._process_id = os.getpid()
            self._lock = threading.Lock()
            self._slots = threading.BoundedSemaphore(max(1, os.cpu_count() or 1))
            self._idle = []


WANTED = "an input is bytes, a pair of a name and bytes, or a path"


def _sources(inputs: Inputs) -> list[Source]:
    """The inputs of a call, one by one.

    Raises:
        TypeError: they are something else.
    """
    is_pair = isinstance(inputs, tuple) and len(inputs) == 2 and isinstance(inputs[0], str) and _is_bytes(inputs[1])
    if is_pair or _is_bytes(inputs) or isinstance(inputs, (str, os.PathLike)):
        return [_source(inputs, "input")]  # type: ignore[arg-type]
    # A file gives lines, and a mapping its keys.
    is_several = isinstance(inputs, Iterable) and not isinstance(inputs, (Mapping, io.IOBase)) and not hasattr(inputs, "read")
    if not is_several:
        raise TypeError(f"{WANTED}, or several of these, and no {_kind(inputs)}")
    return [_source(one, f"input {number}") for number, one in enumerate(inputs, 1)]  # type: ignore[arg-type]


def _is_bytes(one: object) -> bool:
    return isinstance(one, (bytes, bytearray, memoryview))


def _source(one: One, name: str) -> Source:
    if isinstance(one, (bytes, bytearray, memoryview)):
        return Source(name, bytes(one))
    if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) and _is_bytes(one[1]):
        return Source(one[0], bytes(one[1]))
    if isinstance(one, (str, os.PathLike)):
        path = os.fspath(one)
        if not isinstance(path, str):
            raise TypeError("a path is a str, and no bytes: os.fsdecode makes one")
        if any(mark in path for mark in "\n\r\0"):
            raise TypeError("a str is a path, and this one has more than one line: give text as bytes, as text.encode() makes them")
        return Source(path, None)
    raise TypeError(f"{WANTED}, and no {_kind(one)}")


def _kind(one: object) -> str:
    """The type of what is no input, with what to give in its place."""
    name = type(one).__name__
    return f"{name}: give its path, or what read() returns" if hasattr(one, "read") else name


_shared: Checker | None = None
_shared_lock = threading.Lock()


def shared() -> Checker:
    """The checker of the functions of the package, started when it is first asked for."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Checker()
            atexit.register(_shared.close)
        return _shared
