"""`python -m ptxcheck`: the program."""

from __future__ import annotations

import os
import subprocess
import sys

from ._errors import PtxcheckError
from ._program import find_program


def main() -> int:
    """Runs the program with the arguments of this process, and returns its exit code."""
    try:
        program = find_program()
    except PtxcheckError as error:
        print(f"ptxcheck: {error}", file=sys.stderr)
        return 2
    command = [program, *sys.argv[1:]]
    if sys.platform == "win32":
        return subprocess.run(command, check=False).returncode
    os.execv(program, command)


if __name__ == "__main__":
    sys.exit(main())
