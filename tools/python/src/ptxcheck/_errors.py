"""Errors of the package. What is wrong with an input is a finding and no error."""

from __future__ import annotations


class PtxcheckError(Exception):
    """Base of all errors of this package; its text is a sentence."""


class ProgramNotFound(PtxcheckError):
    """The program `ptxcheck` is not installed beside this package, and no other was named."""


class UsageError(PtxcheckError):
    """The program refuses the settings: an option, or a configuration file, makes no sense."""


class CheckFailed(PtxcheckError):
    """No answer came, and there is no input that a finding could be about."""


class CheckTimeout(CheckFailed):
    """The answer did not come within the time that the call allows."""
