"""The program that this package runs."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from ._errors import ProgramNotFound

VARIABLE = "PTXCHECK_BIN"
"""Environment variable with the path of another program to run."""


def find_program() -> str:
    """The path of the program: that of `PTXCHECK_BIN`, the one that was installed with this package, or one on PATH.

    Raises:
        ProgramNotFound: there is none.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not Path(named).is_file():
            raise ProgramNotFound(f"{VARIABLE} names `{named}`, which is no file")
        return named
    name = "ptxcheck.exe" if sys.platform == "win32" else "ptxcheck"
    for folder in _folders():
        program = Path(folder) / name
        if program.is_file():
            return str(program)
    on_path = shutil.which(name)
    if on_path:
        return on_path
    raise ProgramNotFound(
        f"the program `ptxcheck` is not installed beside the package; {VARIABLE} can name it"
    )


def _folders() -> list[str]:
    """The folders in which installers put programs of wheels."""
    folders = [sysconfig.get_path("scripts")]
    user = sysconfig.get_preferred_scheme("user")
    folders.append(sysconfig.get_path("scripts", scheme=user))
    # `pip install --target FOLDER` puts them there.
    folders.append(str(Path(__file__).resolve().parent.parent / "bin"))
    return folders
