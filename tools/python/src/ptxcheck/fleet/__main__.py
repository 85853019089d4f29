"""`python -m ptxcheck.fleet`: checks, audits and studies of many files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from .._errors import PtxcheckError
from .._seconds import check_seconds
from ._engines import Engine, engine
from ._inputs import find
from ._run import Run, require_tables, run
from ._study import GPUS, study
from ._tasks import Job
from ._wheels import read_releases


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m ptxcheck.fleet", description="Checks or audits many files, and writes one table of all results."
    )
    methods = parser.add_subparsers(dest="method", required=True, metavar="check|audit|study")
    for method, what in (("check", "analyse device code"), ("audit", "audit the images of files")):
        one = methods.add_parser(method, help=what)
        one.add_argument(
            "inputs", nargs="+", metavar="INPUT", help="files, folders, addresses that fsspec reads, and @FILE for a list, a name a line"
        )
        one.add_argument("--out", required=True, metavar="FILE", help="the table, as Parquet")
        one.add_argument(
            "--option", action="append", default=[], metavar="OPTION", help="an option of the command, as in --option=--gpu=8.0,9.0; repeatable"
        )
        _add_run_options(one)
    one = methods.add_parser("study", help="download the wheels of a list, audit and check them, and print tables")
    one.add_argument("list", metavar="LIST", help="NAME==VERSION lines, with or without --hash=sha256:…, as pip reads them")
    one.add_argument("--out", required=True, metavar="DIR", help="for wheels/, audit.parquet, check.parquet and tables.md")
    one.add_argument("--python", metavar="VERSION", help="the interpreter that wheels are for, as in 3.11; default: this one")
    one.add_argument("--gpu", default=GPUS, metavar="LIST", help=f"of the forecast; default: {GPUS}")
    one.add_argument(
        "--option", action="append", default=[], metavar="OPTION", help="an option of the check, as in --option=-Wconditional; repeatable"
    )
    _add_run_options(one)
    return parser


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--engine", choices=("local", "dask"), default="local", help="default: local")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="the scheduler of a cluster of dask.distributed, as in tcp://host:8786")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="of this machine; default: one a core")
    parser.add_argument("--cache", metavar="DIR", help="a folder with results of before, which is made; runs may share it")
    parser.add_argument("--retries", type=int, default=2, metavar="N", help="for a file whose process dies; default: 2")
    parser.add_argument("--timeout", type=seconds, default=600.0, metavar="SECONDS", help="for one file; default: 600")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def seconds(text: str) -> float:
    """A limit of time.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        given = float(text)
        check_seconds("it", given)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"`{text}` is no number of seconds above 0") from error
    return given


def progress(done: int, all_files: int) -> None:
    """Shows how many files are done, on a terminal."""
    print(f"\r{done} of {all_files} files", end="" if done < all_files else "\n", file=sys.stderr, flush=True)


def main(words: list[str] | None = None) -> int:
    """Runs the command; the exit code is 0, 1 if a finding counts as an error, or 2 if a file failed or nothing could be done."""
    given = arguments().parse_args(words)
    try:
        # Said before the work and not after it.
        require_tables()
        by = engine(given.engine, workers=max(1, given.workers), retries=max(0, given.retries), scheduler=given.scheduler)
        shows = progress if not given.quiet and sys.stderr.isatty() else None
        return _study(given, by, shows) if given.method == "study" else _run(given, by, shows)
    except PtxcheckError as error:
        print(f"ptxcheck: {error}", file=sys.stderr)
        return 2


def _run(given: argparse.Namespace, by: Engine, shows: Callable[[int, int], None] | None) -> int:
    job = Job(given.method, tuple(given.option), given.cache, given.timeout)
    done = run(find(given.inputs), job, by, shows)
    done.write(given.out)
    print(done.summary())
    return exit_code(done)


def _study(given: argparse.Namespace, by: Engine, shows: Callable[[int, int], None] | None) -> int:
    made = study(
        read_releases(given.list), Path(given.out), by, python=given.python, gpus=given.gpu, options=given.option,
        cache=given.cache, timeout=given.timeout, progress=shows,
    )  # fmt: skip
    made.write(Path(given.out))
    print(made.tables(), end="")
    return max(exit_code(made.audit), exit_code(made.check))


def exit_code(done: Run) -> int:
    """See `main`."""
    if any(row["status"] == "failed" for row in done.of("input")):
        return 2
    errors = (row for row in done.of("finding") if row["level"] == "error" and not row["suppressed"])
    return 1 if any(errors) else 0


if __name__ == "__main__":
    sys.exit(main())
