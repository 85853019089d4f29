"""Wheels with large members, in parts: a task for each large member and one for the others, and one that joins what they found.

The parts are the shards of a run of the program over the wheel (`--shard I/N --shard-members`), and `ptxcheck merge` joins them: the rows
are those of the wheel as a whole.
"""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Sequence
from typing import Union

from .._errors import CheckFailed, CheckTimeout, PtxcheckError, UsageError
from .._program import find_program
from ._inputs import FleetInput, is_device_file
from ._tasks import Job, Result, failed, finished, is_cached

LARGE_MEMBER_BYTES = 256 << 20
"""Members from this size on have a task of their own, where there are others."""

MAX_PARTS = 64
"""Most parts of a file."""

WHOLE = ("--strict-config", "--link-set", "--whole-program", "--baseline", "--check-variants", "--shard", "--output", "--files-from")
"""Options that are about all members, or refused."""

OF_MERGE = ("--gpu", "--driver", "--cuda", "--places", "--root")
"""Options that are for the joined report."""

Part = Union[bytes, str]
"""What came of a part: the shard, or a sentence about what went wrong."""


def parts_of(file: FleetInput, job: Job) -> int:
    """The number of parts of a file: 1 for all but wheels with large members, whose results are not in the cache."""
    if file.is_remote or not file.name.endswith(".whl") or any(option.startswith(WHOLE) for option in job.options):
        return 1
    try:
        with zipfile.ZipFile(file.name) as archive:
            members = [one for one in archive.infolist() if is_device_file(one.filename)]
        large = sum(one.file_size >= LARGE_MEMBER_BYTES for one in members)
        count = min(large + (len(members) > large), MAX_PARTS)
        return 1 if large == 0 or count == 1 or is_cached(file, job) else count
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        # The program says what is wrong with it.
        return 1


def run_part(file: FleetInput, number: int, count: int, job: Job, tries: int) -> Part:
    """The shard of one part, from 1; tries again where the process dies.

    Raises:
        UsageError: the options make no sense.
    """
    options = ["--shard", f"{number}/{count}", "--shard-members", "--format", "shard", "--quiet", "--jobs", "1"]
    options += ["--allow-empty"] if job.method == "check" else []
    return _tried([job.method, *options, *job.options, "--", file.name], b"", job, tries)


def join(file: FleetInput, job: Job, parts: Sequence[Part], tries: int) -> Result:
    """The rows of a file of all its parts.

    Raises:
        UsageError: the options make no sense.
    """
    problems = [part for part in parts if isinstance(part, str)]
    if problems:
        return failed(file, problems[0])
    shards = b"".join(part for part in parts if isinstance(part, bytes))
    options = [*merged_options(job.options), "--format", "json", "--quiet", "--allow-empty"]
    document = _tried(["merge", *options, "-"], shards, job, tries)
    if isinstance(document, str):
        return failed(file, document)
    try:
        return finished(file, job, json.loads(document))
    except OSError as error:
        return failed(file, f"cannot read it: {error}")


def merged_options(options: Sequence[str]) -> list[str]:
    """The options that are for the joined report, with their values."""
    made: list[str] = []
    for number, option in enumerate(options):
        if option in OF_MERGE:
            made += options[number : number + 2]
        elif option.split("=")[0] in OF_MERGE:
            made.append(option)
    return made


def _tried(words: Sequence[str], content: bytes, job: Job, tries: int) -> Part:
    for left in range(tries - 1, -1, -1):
        try:
            return _output(words, content, job.timeout)
        except CheckFailed as error:
            if left == 0:
                return f"given up after {tries} tries: {error}"
        except UsageError:
            raise
        except PtxcheckError as error:
            return str(error)
    raise AssertionError("a try ends with a result")


def _output(words: Sequence[str], content: bytes, timeout: float) -> bytes:
    """What the program prints."""
    try:
        done = subprocess.run([find_program(), *words], input=content, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as error:
        raise CheckTimeout(f"no answer within {timeout:g} s") from error
    if done.stdout and done.returncode in (0, 1, 2):
        return done.stdout
    said = done.stderr.decode(errors="replace").strip().splitlines()
    if done.returncode == 2 and said:
        raise UsageError(said[0].removeprefix("error: ").removeprefix("ptxcheck: "))
    raise CheckFailed(f"the process that checks has ended: {done.returncode}")
