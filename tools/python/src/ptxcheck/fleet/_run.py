"""A run over a fleet: its table and its summary."""

from __future__ import annotations

import collections
import importlib.util
import itertools
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .._errors import PtxcheckError
from ._engines import Engine
from ._inputs import FleetInput
from ._rows import COLUMNS, Row, row_of_failure, sort_key
from ._tasks import Job, Result

MAX_LISTED = 20
"""Failed inputs that the summary lists."""


def require_tables() -> None:
    """Makes sure that tables can be written.

    Raises:
        PtxcheckError: pyarrow is not installed.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise PtxcheckError("a table needs pyarrow: pip install 'ptxcheck[fleet]'")


@dataclass
class Run:
    """The rows of all files, sorted, and counts."""

    rows: list[Row] = field(default_factory=list)
    files: int = 0
    cached: int = 0
    failed: int = 0
    """Files that no report came of. The summary counts the inputs in files that failed, too."""

    def of(self, kind: str) -> list[Row]:
        """The rows of one kind."""
        return [row for row in self.rows if row["kind"] == kind]

    def add_failure(self, name: str, why: str) -> None:
        """Adds the row of a file that could not be had."""
        self.rows.append(row_of_failure(name, why))
        self.rows.sort(key=sort_key)
        self.files += 1
        self.failed += 1

    def write(self, path: str) -> None:
        """Writes the table as Parquet, whole or not at all.

        Raises:
            PtxcheckError: pyarrow is not installed, or the file cannot be written.
        """
        require_tables()
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]

        schema = pyarrow.schema([(name, kind) for name, kind in COLUMNS.items()])
        # Rows of one kind have the same columns, and those of a file stand together.
        parts = [schema.empty_table()]
        for _, same in itertools.groupby(self.rows, key=lambda row: row["kind"]):
            rows = list(same)
            names = set[str]().union(*rows)
            known = pyarrow.schema([field for field in schema if field.name in names])
            parts.append(pyarrow.table({name: [row.get(name) for row in rows] for name in known.names}, schema=known))
        table = pyarrow.concat_tables(parts, promote_options="default")
        try:
            folder = Path(path).resolve().parent
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                pyarrow.parquet.write_table(table, file)
            os.replace(file.name, path)
        except OSError as error:
            raise PtxcheckError(f"`{path}` cannot be written: {error}") from error

    def summary(self) -> str:
        """Counts, and what deviates: files that failed, findings, kernels that do not load."""
        failed = [row for row in self.of("input") if row["status"] == "failed"]
        lines = [f"{self.files} files, {self.cached} of them from the cache; {_inputs(len(failed))} failed"]
        lines += [f"failed: {row['input']}: {row.get('message')}" for row in failed[:MAX_LISTED]]
        if len(failed) > MAX_LISTED:
            lines.append(f"and {len(failed) - MAX_LISTED} more that failed")
        codes = collections.Counter((row["code"], row["level"]) for row in self.of("finding") if not row["suppressed"])
        lines += [f"{count:7}  {code} ({level})" for (code, level), count in sorted(codes.items())]
        states = collections.Counter((row["gpu"], row["state"]) for row in self.of("forecast"))
        lines += [f"{count:7}  kernels on {gpu}: {state}" for (gpu, state), count in sorted(states.items())]
        return "\n".join(lines)


def _inputs(count: int) -> str:
    return "1 input" if count == 1 else f"{count} inputs"


def run(
    files: Sequence[FleetInput], job: Job, engine: Engine, progress: Callable[[int, int], None] | None = None
) -> Run:
    """Runs a job over files. `progress` is called with the number of files that are done, and that of all.

    Raises:
        UsageError: the options make no sense.
    """
    done = Run(files=len(files))
    results: list[Result] = []
    # Large files first: the last ones to end are short.
    for result in engine.results(sorted(files, key=lambda file: -(file.size or 0)), job):
        results.append(result)
        done.cached += result.is_cached
        done.failed += result.has_failed
        if progress is not None:
            progress(len(results), len(files))
    done.rows = [row for result in sorted(results, key=lambda result: result.name) for row in result.rows]
    return done
