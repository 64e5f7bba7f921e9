"""Talking to the person at the terminal."""

from __future__ import annotations

import sys

from fuzztui.base.text import visible

DONE, FAILED, USAGE, NOT_RUNNING, DAMAGED = 0, 1, 2, 3, 4
FINDINGS = 10
BELOW_THRESHOLD = 11


class CliError(Exception):
    """Something that the user must be told; ends the command with ``code``."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code


def at_terminal() -> bool:
    """Whether somebody reads our output on a screen (a closed stdout is None)."""
    return sys.stdout is not None and sys.stdout.isatty()


def say(text: str) -> None:
    """A line for the person (stderr): stdout is for results."""
    print(visible(f"fuzztui: {text}", lines=True), file=sys.stderr, flush=True)


def speed(per_second: float) -> str:
    """``1,234/s``; a rate that nobody knows yet (-1) is a dash."""
    return f"{per_second:,.0f}/s" if per_second >= 0 else "-/s"


def still_run(names: list[str]) -> str:
    """``main still runs``; ``main, s1 still run``."""
    return f"{', '.join(names)} still run{'s' * (len(names) == 1)}"


def probability(name: str, text: str) -> float:
    """What ``name`` was given: ``0.25`` or ``25%``. Raises :class:`CliError`."""
    try:
        part = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        part = -1.0
    if not 0 <= part <= 1:
        raise CliError(f"{name}={text}: a probability is from 0 to 1, or 0% to 100%", USAGE)
    return part


def duration(seconds: float) -> str:
    """``75`` -> ``1m15s``; ``90061`` -> ``1d01h01m``."""
    s = int(seconds)
    if s < 60:
        return f"{s}s"
    if s < 3600:
        return f"{s // 60}m{s % 60:02d}s"
    if s < 86400:
        return f"{s // 3600}h{s % 3600 // 60:02d}m"
    return f"{s // 86400}d{s % 86400 // 3600:02d}h{s % 3600 // 60:02d}m"
