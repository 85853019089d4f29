"""Settings of a check."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ._seconds import check_seconds


@dataclass(frozen=True)
class Settings:
    """Settings of a check or an audit, as the command line has them.

    Levels are set in the order deny, warn, allow: `Settings(warn=["potential"], allow=["PTX202"])`.
    """

    deny: Sequence[str] = ()
    """Codes, names, families or guidelines whose findings are errors (`-D`)."""
    warn: Sequence[str] = ()
    """The same, for warnings (`-W`); `potential` and `conditional` switch such findings on."""
    allow: Sequence[str] = ()
    """The same, for what is not reported (`-A`)."""
    config: str | os.PathLike[str] | None = None
    """A configuration file; without it, the nearest `ptxcheck.toml` above the working directory of the process."""
    launch_blocks: Sequence[Sequence[int]] = ()
    """Blocks that kernels without bounds of their own are launched with, in threads: `[(128,), (16, 16)]`."""
    assume: Sequence[str] = ()
    """Conditions on parameters that callers keep to, for conditional findings: `["forces*:1 % 128"]`."""
    baseline: str | os.PathLike[str] | None = None
    """A file with known findings, which are suppressed."""
    jobs: int = 1
    """Threads of a call; 0 for one a core."""
    input_timeout: float | None = None
    """Seconds that each input may take, from opening it to its last finding."""
    options: Sequence[str] = ()
    """Further options of the command, as on the command line: `["--require-gpu", "all"]`."""

    def to_options(self) -> list[str]:
        """The options of the command line."""
        made: list[str] = []
        for letter, selectors in (("-D", self.deny), ("-W", self.warn), ("-A", self.allow)):
            if isinstance(selectors, str):
                raise TypeError(f"a list of selectors is wanted, as in [{selectors!r}]")
            for selector in selectors:
                made += [letter, selector]
        if self.config is not None:
            made += ["--config", os.fspath(self.config)]
        for block in self.launch_blocks:
            made += ["--launch-block", ",".join(str(side) for side in block)]
        for condition in self.assume:
            made += ["--assume", condition]
        if self.baseline is not None:
            made += ["--baseline", os.fspath(self.baseline)]
        made += ["--jobs", str(self.jobs)]
        check_seconds("input_timeout", self.input_timeout)
        if self.input_timeout is not None:
            made += ["--timeout", f"{self.input_timeout:g}"]
        return [*made, *self.options]
