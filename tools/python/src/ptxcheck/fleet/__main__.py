"""`python -m ptxcheck.fleet`: checks and audits of many files."""

from __future__ import annotations

import argparse
import os
import sys

from .._errors import PtxcheckError
from ._engines import engine
from ._inputs import find
from ._run import Run, require_tables, run
from ._tasks import Job


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m ptxcheck.fleet", description="Checks or audits many files, and writes one table of all results."
    )
    parser.add_argument("method", choices=("check", "audit"))
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="files, folders, addresses that fsspec reads, and @FILE for a list, a name a line"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="the table, as Parquet")
    parser.add_argument("--engine", choices=("local", "dask"), default="local", help="default: local")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="the scheduler of a cluster of dask.distributed, as in tcp://host:8786")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="of this machine; default: one a core")
    parser.add_argument("--cache", metavar="DIR", help="a folder with results of before, which is made; runs may share it")
    parser.add_argument("--retries", type=int, default=2, metavar="N", help="for a file whose process dies; default: 2")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="for one file; default: 600")
    parser.add_argument(
        "--option", action="append", default=[], metavar="OPTION", help="an option of the command, as in --option=--gpu=8.0,9.0; repeatable"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def progress(done: int, all_files: int) -> None:
    """Shows how many files are done, on a terminal."""
    print(f"\r{done} of {all_files} files", end="" if done < all_files else "\n", file=sys.stderr, flush=True)


def main(words: list[str] | None = None) -> int:
    """Runs the command; the exit code is 0, 1 if a finding counts as an error, or 2 if a file failed or nothing could be done."""
    given = arguments().parse_args(words)
    job = Job(given.method, tuple(given.option), given.cache, given.timeout)
    try:
        # Said before the work and not after it.
        require_tables()
        files = find(given.inputs)
        by = engine(given.engine, workers=max(1, given.workers), retries=max(0, given.retries), scheduler=given.scheduler)
        shows = not given.quiet and sys.stderr.isatty()
        done = run(files, job, by, progress if shows else None)
        done.write(given.out)
    except PtxcheckError as error:
        print(f"ptxcheck: {error}", file=sys.stderr)
        return 2
    print(done.summary())
    return exit_code(done)


def exit_code(done: Run) -> int:
    """See `main`."""
    if any(row["status"] == "failed" for row in done.of("input")):
        return 2
    errors = (row for row in done.of("finding") if row["level"] == "error" and not row["suppressed"])
    return 1 if any(errors) else 0


if __name__ == "__main__":
    sys.exit(main())
