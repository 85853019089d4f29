"""Lists of releases, and their wheels, which pip downloads."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .._errors import PtxcheckError
from ._digest import digest_of

HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")

DOWNLOAD_SECONDS = 1800.0
"""Longest that pip may take for one wheel."""


@dataclass(frozen=True)
class Release:
    """A line of a list: a package of one version, and the digests that its wheel may have."""

    name: str
    version: str
    digests: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def requirement(self) -> str:
        """The line as pip reads it."""
        return " ".join([f"{self.name}=={self.version}", *(f"--hash=sha256:{digest}" for digest in self.digests)])

    def file_prefix(self) -> str:
        """The beginning of the names that its wheels have."""
        return f"{re.sub(r'[-_.]+', '_', self.name).lower()}-{self.version.lower()}-"


def read_releases(path: str) -> list[Release]:
    """Reads a list: requirements of pip, each `NAME==VERSION`, with or without `--hash=sha256:…`; `#` begins a comment.

    Raises:
        PtxcheckError: the list cannot be read, or a line is something else.
    """
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PtxcheckError(f"the list `{path}` cannot be read: {error}") from error
    found = []
    for line in re.sub(r"\\\n", " ", text).splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        if not line:
            continue
        read = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)((?:\s+--hash=sha256:[0-9a-f]{64})*)", line)
        if read is None:
            raise PtxcheckError(f"`{path}`: `{line}` is not NAME==VERSION with or without --hash=sha256:…")
        found.append(Release(read[1], read[2], tuple(HASH.findall(read[3]))))
    return found


def fetch(release: Release, folder: Path, python: str | None) -> Path:
    """The wheel of a release: the one that lies in a folder, or else one that pip downloads into it.

    `python`: the version of the interpreter that the wheel is for, as in `3.11`; that of this process without it.

    Raises:
        PtxcheckError: pip finds none that is right.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for wheel in sorted(folder.glob("*.whl")):
        if wheel.name.lower().startswith(release.file_prefix()) and is_right(wheel, release):
            return wheel
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        wanted = Path(fresh) / "requirements.txt"
        wanted.write_text(release.requirement() + "\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", fresh, "--requirement", str(wanted)]
        command += ["--python-version", python] if python is not None else []
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DOWNLOAD_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise PtxcheckError(f"pip took longer than {DOWNLOAD_SECONDS:g} s") from error
        wheels = sorted(Path(fresh).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            raise PtxcheckError(_problem(done.stderr))
        return wheels[0].replace(folder / wheels[0].name)


def is_right(wheel: Path, release: Release) -> bool:
    """True if a wheel has one of the digests of the list, or the list has none."""
    if not release.digests:
        return True
    return digest_of(str(wheel)) in release.digests


def _problem(said: str) -> str:
    """The last thing that pip called an error."""
    errors = [line[len("ERROR:") :].strip() for line in said.splitlines() if line.startswith("ERROR:")]
    return errors[-1] if errors else "pip downloaded no wheel"
