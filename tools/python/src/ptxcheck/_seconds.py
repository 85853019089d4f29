"""Limits of time."""

from __future__ import annotations

import threading


def check_seconds(name: str, seconds: float | None) -> None:
    """Makes sure that a limit of time is one.

    Raises:
        TypeError: it is no number.
        ValueError: it is not above 0, or no time that can be waited for.
    """
    if seconds is None:
        return
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} is a number of seconds, and no {type(seconds).__name__}")
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise ValueError(f"{name} is a number of seconds above 0, and finite: not {seconds}")
