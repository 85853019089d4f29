"""Static checking of compiled GPU code, as functions of bytes and paths.

    >>> import ptxcheck
    >>> report = ptxcheck.check(b".version 9.0 ...")
    >>> [str(finding) for finding in report.findings]

The work is done by processes of the program `ptxcheck` that stay up: a check of a small kernel takes a millisecond or two, and nothing that
an input does to the program reaches the interpreter.
"""

from __future__ import annotations

from ._checker import Checker, Inputs, One, Path, shared
from ._errors import CheckFailed, CheckTimeout, ProgramNotFound, PtxcheckError, UsageError
from ._program import find_program
from ._report import (
    Audit,
    AuditInput,
    Cell,
    Change,
    ChangedKernel,
    ChangedTarget,
    Definition,
    Diff,
    FileLoads,
    Finding,
    Fix,
    Frame,
    GpuLoad,
    Host,
    Image,
    Input,
    JitBytes,
    Kernel,
    LoadedImage,
    Loads,
    Location,
    NeededLibrary,
    Place,
    Problem,
    Related,
    Release,
    Report,
    Resources,
    Source,
    Suppression,
    Unread,
    from_document,
)
from ._settings import Settings

__all__ = [
    "Audit", "AuditInput", "Cell", "Change", "ChangedKernel", "ChangedTarget", "CheckFailed", "CheckTimeout", "Checker",
    "Definition", "Diff", "FileLoads", "Finding", "Fix", "Frame", "GpuLoad", "Host", "Image", "Input", "JitBytes", "Kernel",
    "LoadedImage", "Loads", "Location", "NeededLibrary", "Place", "Problem", "ProgramNotFound", "PtxcheckError", "Related",
    "Release", "Report", "Resources", "Settings", "Source", "Suppression", "Unread", "UsageError", "audit", "check",
    "check_async", "diff", "find_program", "from_document",
]  # fmt: skip


def check(inputs: Inputs, settings: Settings | None = None, *, timeout: float | None = None) -> Report:
    """`Checker.check` of a checker that the package keeps."""
    return shared().check(inputs, settings, timeout=timeout)


async def check_async(
    inputs: Inputs, settings: Settings | None = None, *, timeout: float | None = None
) -> Report:
    """`Checker.check_async` of a checker that the package keeps."""
    return await shared().check_async(inputs, settings, timeout=timeout)


def audit(inputs: Inputs, settings: Settings | None = None, *, timeout: float | None = None) -> Audit:
    """`Checker.audit` of a checker that the package keeps."""
    return shared().audit(inputs, settings, timeout=timeout)


def diff(
    old: Path, new: Path, settings: Settings | None = None, *, timeout: float | None = None
) -> Diff:
    """`Checker.diff` of a checker that the package keeps."""
    return shared().diff(old, new, settings, timeout=timeout)
