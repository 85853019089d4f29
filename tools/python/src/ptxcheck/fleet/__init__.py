"""Checks and audits of many files, by several processes or machines: one row for each finding, image, kernel and forecast.

Each file is a task of its own, so that no task needs another; of wheels, each large member is one, too. `local` runs them on this machine, `dask` on a cluster of
dask.distributed. Results are cached by content, so that a run over files that were seen before reads them and no more. `study` is both
runs over the wheels of a list of releases.
"""

from __future__ import annotations

from ._engines import Engine, engine
from ._inputs import FleetInput, find
from ._tasks import Job, Result, run_one
from ._run import Run, run
from ._study import Study, study
from ._wheels import Release, read_releases

__all__ = [
    "Engine", "FleetInput", "Job", "Release", "Result", "Run", "Study", "engine", "find", "read_releases", "run", "run_one", "study",
]  # fmt: skip
