"""A study of releases: their wheels are downloaded, audited and checked, and what was found is a page of tables."""

from __future__ import annotations

import collections
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .._errors import PtxcheckError
from ._engines import Engine
from ._inputs import FleetInput
from ._rows import RUNNABLE, Row
from ._run import Run, run
from ._tasks import Job
from ._wheels import Release, fetch

GPUS = "7.0,7.5,8.0,8.6,8.7,8.9,9.0,10.0,11.0,12.0"
"""The GPUs that a forecast is made for, unless others are named."""

DOWNLOADS = 4
"""Wheels that are downloaded at a time."""

DUPLICATES = "PTX511"
"""The rule that an audit tells images by that lie in a file more than once. The study asks for it to count them."""

NOTHING = "–"


@dataclass
class Study:
    """The releases of a list, what became of them, and the rows of the two runs."""

    releases: Sequence[Release]
    files: Mapping[Release, str] = field(default_factory=dict)
    """The wheels."""
    problems: Mapping[Release, str] = field(default_factory=dict)
    """For releases without a wheel, the reason."""
    audit: Run = field(default_factory=Run)
    check: Run = field(default_factory=Run)

    def write(self, folder: Path) -> None:
        """Writes the rows (`audit.parquet`, `check.parquet`) and the tables (`tables.md`).

        Raises:
            PtxcheckError: a file cannot be written.
        """
        self.audit.write(str(folder / "audit.parquet"))
        self.check.write(str(folder / "check.parquet"))
        try:
            (folder / "tables.md").write_text(self.tables())
        except OSError as error:
            raise PtxcheckError(f"`{folder}` cannot be written to: {error}") from error

    def tables(self) -> str:
        """The tables, as Markdown."""
        parts = [Part(release, self.problem(release), self._rows(release)) for release in self.releases]
        gpus = sorted(
            {row["gpu"] for row in self.audit.of("forecast")}, key=lambda gpu: [int(one) for one in gpu.split(".")]
        )
        return "\n".join(
            [
                *_table(
                    ["release", "files", "images", "MB", "machine code for", "PTX for", "PTX version", "kernels", "targets a kernel"],
                    [part.contents() for part in parts],
                ),
                "",
                *_table(["kernels that load on", *gpus], [part.loading(gpus) for part in parts if part.forecast]),
                "",
                *_table(["oldest driver for all of it on", *gpus], [part.drivers(gpus) for part in parts if part.forecast]),
                "",
                *_table(
                    ["release", "kernels with a stub", "twice in a file", "in several files", "images twice in a file", "MB for nothing"],
                    [part.repetitions() for part in parts if part.kernels],
                ),
                "",
                *_table(["finding", "level", "certainty", "causes", "places", "in"], self._findings()),
                "",
            ]
        )  # fmt: skip

    def problem(self, release: Release) -> str | None:
        """The reason for which there is nothing to tell of a release."""
        if release in self.problems:
            return self.problems[release]
        rows = self._rows(release)
        if any(row["kind"] == "image" for row in rows):
            return None
        failed = [row["message"] for row in rows if row["kind"] == "input" and row.get("message")]
        return failed[0] if failed else "no device code"

    def findings(self) -> list[Row]:
        """The findings of the check, and those of the audit that are not among them, but for images that lie in a file twice."""
        found = [row for row in self.check.of("finding") if not row["suppressed"]]
        known = {(row["file"], row["code"], row["fingerprint"]) for row in found}
        more = [row for row in self.audit.of("finding") if not row["suppressed"] and row["code"] != DUPLICATES]
        return found + [row for row in more if (row["file"], row["code"], row["fingerprint"]) not in known]

    def _rows(self, release: Release) -> list[Row]:
        return self._by_file.get(self.files.get(release, ""), [])

    @cached_property
    def _by_file(self) -> dict[str, list[Row]]:
        return {file: list(rows) for file, rows in itertools.groupby(self.audit.rows, key=lambda row: str(row["file"]))}

    def _findings(self) -> list[list[str]]:
        names: dict[str, str] = {file: release.name for release, file in self.files.items()}
        kinds: dict[tuple[str, str, str], list[Row]] = collections.defaultdict(list)
        for row in self.findings():
            kinds[row["code"], row["level"], row["certainty"]].append(row)
        return [
            [
                *kind, _number(len(rows)), _number(sum(row["places"] for row in rows)),
                _counted(names[row["file"]] for row in rows),
            ]
            for kind, rows in sorted(kinds.items())
        ]  # fmt: skip


class Part:
    """What the audit tells of one release."""

    def __init__(self, release: Release, problem: str | None, rows: Iterable[Row]) -> None:
        kinds: dict[str, list[Row]] = collections.defaultdict(list)
        for row in rows:
            kinds[row["kind"]].append(row)
        self.release, self.problem = release, problem
        self.images = [row for row in kinds["image"] if row["role"] in RUNNABLE]
        self.kernels = kinds["kernel"]
        self.forecast, self.findings = kinds["forecast"], kinds["finding"]

    def contents(self) -> list[str]:
        """Files with device code, their images and kernels; where there are none, the reason."""
        if self.problem is not None:
            return [str(self.release), self.problem, *_cells("", 7)]
        kinds: dict[str, set[str]] = collections.defaultdict(set)
        for row in self.images:
            kinds[row["image_kind"]].add(_short(row["target"] or "?"))
        code = sorted(kinds["cubin"], key=_order)
        # No target is a part of other kinds: LLVM IR, LTO-IR.
        code += sorted(kinds.keys() - {"cubin", "ptx"})
        isas = {row["isa"] for row in self.images if row["image_kind"] == "ptx" and row["isa"]}
        versions = sorted(isas, key=_version)
        targets = [targets_of(row) for row in self.kernels]
        return [
            str(self.release),
            _number(len({row["input"] for row in self.images})),
            _number(len(self.images)),
            f"{sum(row['packed_bytes'] for row in self.images) / 1e6:,.1f}",
            ", ".join(code) or NOTHING,
            ", ".join(sorted(kinds["ptx"], key=_order)) or NOTHING,
            _span(versions),
            _number(len({row["kernel"] for row in self.kernels})),
            _span(sorted(targets)),
        ]

    def loading(self, gpus: Sequence[str]) -> list[str]:
        """For each GPU, the number of kernels by the way in which they are loaded: names of `STATES`, in their order."""
        states: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for cell in self.forecast:
            states[cell["gpu"]][STATES[cell["state"]]] += 1
        order = list(dict.fromkeys(STATES.values()))
        return [
            str(self.release),
            *(
                ", ".join(f"{_number(states[gpu][state])} {state}" for state in order if states[gpu][state])
                for gpu in gpus
            ),
        ]

    def drivers(self, gpus: Sequence[str]) -> list[str]:
        """For each GPU, the first driver that loads all kernels that load there at all."""
        needed: dict[str, set[str]] = collections.defaultdict(set)
        for cell in self.forecast:
            if cell["driver"] is not None and cell["state"] != "none":
                needed[cell["gpu"]].add(cell["driver"])
        oldest = (max(needed[gpu], key=_version) if needed[gpu] else NOTHING for gpu in gpus)
        return [str(self.release), *oldest]

    def repetitions(self) -> list[str]:
        """Kernels that are stubs somewhere, that a file has twice for a target, that lie in several files; images that lie in a file twice."""
        in_files: dict[str, set[str]] = collections.defaultdict(set)
        for row in self.kernels:
            in_files[row["kernel"]].add(row["input"])
        twice = [json.loads(row["data"]) for row in self.findings if row["code"] == DUPLICATES]
        return [
            str(self.release),
            _number(sum(row["stub"] is not None for row in self.kernels)),
            _number(sum(row["copies"] > 1 for row in self.kernels)),
            _number(sum(len(files) > 1 for files in in_files.values())),
            _number(sum(len(one["images"]) for one in twice)),
            f"{sum(one['bytes'] for one in twice) / 1e6:,.1f}",
        ]


STATES = {
    "exact": "code", "older": "code", "jit": "JIT", "jit-link": "JIT-link", "partly": "partly", "unsure": "unsure", "none": "none",
}  # fmt: skip
"""States of the forecast as the table names them."""


def study(
    releases: Sequence[Release],
    folder: Path,
    engine: Engine,
    *,
    python: str | None = None,
    gpus: str = GPUS,
    options: Sequence[str] = (),
    cache: str | None = None,
    timeout: float = 600.0,
    progress: Callable[[int, int], None] | None = None,
) -> Study:
    """Downloads the wheels of releases into `folder/wheels`, audits them with a forecast for `gpus`, and checks them with `options`.

    What cannot be downloaded or read is told of in the tables. `python`, `cache`, `timeout`, `progress`: as of `fetch`, `Job` and `run`.

    Raises:
        UsageError: the options make no sense.
    """
    files: dict[Release, str] = {}
    problems: dict[Release, str] = {}

    def fetched(release: Release) -> Path | PtxcheckError:
        try:
            return fetch(release, folder / "wheels", python)
        except (PtxcheckError, OSError) as error:
            return PtxcheckError(str(error))

    with ThreadPoolExecutor(DOWNLOADS) as pool:
        for release, wheel in zip(releases, pool.map(fetched, releases), strict=True):
            if isinstance(wheel, Path):
                files[release] = str(wheel)
            else:
                problems[release] = str(wheel)
    inputs = [FleetInput(file, Path(file).stat().st_size) for file in sorted(set(files.values()))]
    audited = run(inputs, Job("audit", (f"--gpu={gpus}", "--forbid-duplicates"), cache, timeout), engine, progress)
    checked = run(inputs, Job("check", tuple(options), cache, timeout), engine, progress)
    for release, why in problems.items():
        for done in (audited, checked):
            done.add_failure(f"{release.name}=={release.version}", why)
    return Study(releases, files, problems, audited, checked)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines]


def _number(count: int) -> str:
    return f"{count:,}"


def targets_of(kernel: Row) -> int:
    """The number of targets that a kernel is compiled for, PTX and machine code."""
    return sum(len(kernel[kind].split(",")) for kind in ("sm", "ptx") if kernel[kind])


def _short(target: str) -> str:
    return target.removeprefix("sm_").removeprefix("compute_")


def _order(target: str) -> tuple[int, str]:
    digits = "".join(sign for sign in target if sign.isdigit())
    return (int(digits or 0), target)


def _span(values: Sequence[object]) -> str:
    """The first and the last of sorted values."""
    if not values:
        return NOTHING
    return f"{values[0]}" if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def _cells(text: str, count: int) -> list[str]:
    return [text] * count


def _version(driver: str) -> list[int]:
    return [int(part) for part in driver.split(".") if part.isdigit()]


def _counted(names: Iterable[str]) -> str:
    counts = collections.Counter(names)
    return ", ".join(f"{name} {_number(count)}" if count > 1 else name for name, count in sorted(counts.items()))
