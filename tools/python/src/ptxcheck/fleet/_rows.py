"""Rows of the table: one for each input, image, kernel, cell of the forecast and finding."""

from __future__ import annotations

import collections
import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from .._report import Audit, AuditInput, Finding, Image, Kernel, Report

Row = dict[str, Any]

COLUMNS: dict[str, str] = {
    "file": "string", "kind": "string", "number": "int64", "input": "string", "digest": "string", "status": "string",
    "image": "int64", "image_kind": "string", "target": "string", "isa": "string", "bytes": "int64", "packed_bytes": "int64",
    "role": "string", "kernel": "string", "sm": "string", "ptx": "string", "registers": "int64", "copies": "int64",
    "stub": "string",
    "gpu": "string", "state": "string", "driver": "string", "jit_bytes": "int64", "code": "string", "level": "string",
    "certainty": "string", "message": "string", "source": "string", "line": "int64", "places": "int64",
    "fingerprint": "string", "suppressed": "string", "data": "string",
}  # fmt: skip
"""Columns of the table, with Arrow's types; a row has those that its kind knows.

`file` is the input of the fleet, `input` a member of it, or itself; `kind` is `input`, `image`, `kernel`, `forecast` or `finding`, and
`number` counts the rows of one kind of a file.
"""

RUNNABLE = ("loadable", "relocatable")
"""Roles of images that a program can end up running."""


def row_of_failure(name: str, why: str) -> Row:
    """The row of a file that could not be checked."""
    return {"file": name, "kind": "input", "number": 0, "input": name, "status": "failed", "message": why}


def rows_of(name: str, digest: str, report: Report) -> list[Row]:
    """The rows of a file, in the order of the table."""
    rows: list[Row] = []

    counts: collections.Counter[str] = collections.Counter()

    def add(kind: str, **values: Any) -> None:
        rows.append({"file": name, "kind": kind, "number": counts[kind], "digest": digest, **values})
        counts[kind] += 1

    for one in report.inputs:
        problems = "; ".join(f"{problem.code}: {problem.message}" for problem in one.errors)
        add("input", input=one.path, status=one.status, message=problems or None)
    for one in report.inputs:
        for image in one.images:
            add(
                "image", input=one.path, image=image.index, image_kind=image.kind, target=image.target, isa=image.isa,
                bytes=image.bytes, packed_bytes=image.packed_bytes, role=image.role,
            )  # fmt: skip
    for one in report.inputs:
        for kernel in one.kernels if isinstance(one, AuditInput) else ():
            resources = [made.resources.registers or 0 for made in kernel.definitions if made.resources]
            stubs = sorted({made.stub for made in kernel.definitions if made.stub})
            add(
                "kernel", input=one.path, kernel=kernel.name, sm=",".join(kernel.sm), ptx=",".join(kernel.ptx),
                registers=max(resources, default=None), copies=_copies(one.images, kernel), stub=",".join(stubs) or None,
            )  # fmt: skip
    for cell in (report.forecast or ()) if isinstance(report, Audit) else ():
        add(
            "forecast", input=cell.input, kernel=cell.kernel, gpu=cell.gpu, state=cell.state, driver=cell.driver,
            jit_bytes=cell.jit_bytes, stub=cell.stub, target=cell.image.target if cell.image else None,
        )  # fmt: skip
    for finding in report.findings:
        add("finding", **_finding(finding))
    # The numbers of a kind are in their order already.
    rows.sort(key=lambda row: str(row["kind"]))
    return rows


def _copies(all_images: Sequence[Image], kernel: Kernel) -> int:
    """The most images of one kind, target and role that have a kernel."""
    having = (all_images[number] for number in kernel.images)
    images = collections.Counter((image.kind, image.target, image.role) for image in having)
    return max(images.values(), default=0)


def _finding(finding: Finding) -> Row:
    place = finding.source or finding.location
    in_image = finding.source is None and finding.location is not None and finding.location.in_image
    return {
        "input": finding.input,
        "image": finding.image,
        "kernel": finding.kernel,
        "code": finding.code,
        "level": finding.level,
        "certainty": finding.certainty,
        "message": finding.message,
        "source": place.file if place else None,
        "line": None if place is None or in_image else place.line,
        "places": 1 + len(finding.places) + finding.places_left_out,
        "fingerprint": finding.fingerprint,
        "suppressed": json.dumps(dataclasses.asdict(finding.suppressed)) if finding.suppressed else None,
        "data": json.dumps(finding.data, sort_keys=True),
    }


def sort_key(row: Row) -> tuple[str, str, int]:
    """The order of the table."""
    return (row["file"], row["kind"], row["number"])
