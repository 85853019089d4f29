"""Engines that run the tasks of a fleet."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from .._errors import CheckFailed, PtxcheckError
from ._inputs import FleetInput
from ._parts import Part, join, parts_of, run_part
from ._tasks import Job, Result, failed, run_one


NO_WORKER_SECONDS = 60.0
"""How long a run waits while a Dask cluster has no worker: those of a scheduler may come later, or again."""


class Engine(Protocol):
    """An engine: the results of files, as they come."""

    def results(self, files: Sequence[FleetInput], job: Job) -> Iterator[Result]:
        """Runs the tasks; each file has one result, whatever goes wrong with it."""
        ...


def with_retries(file: FleetInput, job: Job, tries: int) -> Result:
    """Runs a task, again where the process that checks has gone, up to so many times."""
    for left in range(tries - 1, -1, -1):
        try:
            return run_one(file, job)
        except CheckFailed as error:
            if left == 0:
                return failed(file, f"given up after {tries} tries: {error}")
    raise AssertionError("a try ends with a result")


class Local:
    """Processes of this machine."""

    def __init__(self, workers: int, retries: int) -> None:
        self._workers, self._tries = workers, retries + 1

    def results(self, files: Sequence[FleetInput], job: Job) -> Iterator[Result]:
        """See `Engine`. The work is done by processes of the program, one for each thread."""
        with ThreadPoolExecutor(self._workers) as pool:
            results: set[Future[Result]] = set()
            parts: dict[Future[Part], Split] = {}
            for file in files:
                count = parts_of(file, job)
                if count == 1:
                    results.add(pool.submit(with_retries, file, job, self._tries))
                    continue
                numbers = range(1, count + 1)
                split = Split(file, [pool.submit(run_part, file, number, count, job, self._tries) for number in numbers])
                parts.update((part, split) for part in split.parts)
            while results or parts:
                running: list[Future[Any]] = [*results, *parts]
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for part in parts.keys() & done:
                    split = parts.pop(part)
                    # The last one of a file: those of others are still among the parts.
                    if split not in parts.values():
                        made = [part.result() for part in split.parts]
                        results.add(pool.submit(join, split.file, job, made, self._tries))
                for result in results & done:
                    results.remove(result)
                    yield result.result()


@dataclass(frozen=True, eq=False)
class Split:
    """A file, and its parts."""

    file: FleetInput
    parts: list[Future[Part]]


class Dask:
    """Workers of dask.distributed: a cluster of this machine, or the one of a scheduler."""

    def __init__(self, workers: int, retries: int, scheduler: str | None) -> None:
        self._workers, self._tries, self._scheduler = workers, retries + 1, scheduler

    def results(self, files: Sequence[FleetInput], job: Job) -> Iterator[Result]:
        """See `Engine`. A worker that dies costs its tasks a retry."""
        try:
            module = importlib.import_module("distributed")
        except ImportError as error:
            raise PtxcheckError("the engine `dask` needs dask.distributed: pip install ptxcheck[fleet]") from error
        with self._client(module) as client:
            counts = [parts_of(file, job) for file in files]
            tasks = {}
            for file, count in zip(files, counts, strict=True):
                if count > 1:
                    numbers = range(1, count + 1)
                    parts = [client.submit(run_part, file, number, count, job, self._tries, pure=False) for number in numbers]
                    tasks[client.submit(join, file, job, parts, self._tries, pure=False)] = file
            whole = [file for file, count in zip(files, counts, strict=True) if count == 1]
            mapped = client.map(with_retries, whole, job=job, tries=self._tries, key="ptxcheck", pure=False)
            tasks.update(zip(mapped, whole, strict=True))
            with Watch(client, list(tasks)):
                for task in module.as_completed(tasks):
                    yield task.result() if task.status == "finished" else failed(tasks[task], why_given_up(task))

    @contextmanager
    def _client(self, distributed: Any) -> Iterator[Any]:
        if self._scheduler is not None:
            client = distributed.Client(self._scheduler)
        else:
            # A task is a process of its own: threads of a worker would have one between them.
            client = distributed.Client(
                n_workers=self._workers, threads_per_worker=1, processes=True, dashboard_address=None
            )
        try:
            yield client
        finally:
            # While a cluster starts a worker anew that has died, it can't be closed: `can only join a started process`. By then there are
            # all results, and its processes end with this one.
            with suppress(AssertionError):
                client.close()


def why_given_up(task: Any) -> str:
    """Why a task of Dask has no result."""
    if task.status == "error":
        return f"given up: {task.exception()!r}"
    return "given up: the Dask cluster has no worker, or no scheduler, any more"


class Watch:
    """Cancels tasks when their cluster has had no worker for a time: without one, nothing would ever end them."""

    def __init__(self, client: Any, tasks: Sequence[Any]) -> None:
        self._client, self._tasks = client, tasks
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        last_seen = time.monotonic()
        while not self._ended.wait(min(1.0, NO_WORKER_SECONDS / 4)):
            try:
                if self._client.scheduler_info()["workers"]:
                    last_seen = time.monotonic()
            except Exception:
                # The scheduler is gone: it has no worker, either.
                pass
            if time.monotonic() - last_seen > NO_WORKER_SECONDS:
                # Without a scheduler, the client has cancelled them itself.
                with suppress(Exception):
                    self._client.cancel(self._tasks, force=True)
                return


def engine(name: str, *, workers: int, retries: int, scheduler: str | None) -> Engine:
    """The engine of a name: `local` or `dask`.

    Raises:
        PtxcheckError: there is none of this name.
    """
    if name == "local":
        return Local(workers, retries)
    if name == "dask":
        return Dask(workers, retries, scheduler)
    raise PtxcheckError(f"`{name}` is no engine; the engines are local and dask")
