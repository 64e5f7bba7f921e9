"""Exit codes, errors and messages of the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.atomic import publish_text
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.text import visible

DONE, FAILED, USAGE, NOT_RUNNING, DAMAGED = 0, 1, 2, 3, 4
FINDINGS = 10
BELOW_THRESHOLD = 11


class CliError(UserError):
    """An error of a command."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code


class UsageError(CliError):
    """What the user has given is wrong, or is missing."""

    def __init__(self, text: str) -> None:
        super().__init__(text, USAGE)


def at_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()  # None: closed


_silent: Final = ContextVar("_silent", default=False)


@contextmanager
def silenced() -> Iterator[None]:
    """Print no messages: a script has called, not a user."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def say(text: str) -> None:
    """Print a message for the user on stderr; stdout is for results."""
    if _silent.get():
        return
    print(in_ci_log(visible(f"fuzztui: {text}", lines=True)), file=sys.stderr, flush=True)


def in_ci_log(text: str) -> str:
    """Change a line so that it contains no command for a CI server, such as ``##[``."""
    return text.replace("##[", "## [").replace("##vso[", "## vso[")


def speed(per_second: float) -> str:
    """Format a rate: ``1,234/s``, or ``-/s`` for an unknown rate (negative)."""
    return f"{per_second:,.0f}/s" if per_second >= 0 else "-/s"


def still_run(names: list[str]) -> str:
    """Format names of instances: ``main still runs``; ``main, s1 still run``."""
    return f"{', '.join(names)} still run{'s' * (len(names) == 1)}"


def weight_or_factor(text: str) -> tuple[float, bool]:
    """Parse ``3``, or ``x2`` and ``*0.5``, which are factors. Raises :class:`CliError`."""
    factor = text.startswith(("x", "X", "*"))
    try:
        return float(text[1:] if factor else text), factor
    except ValueError:
        raise CliError(f"{text!r} is not a weight; write 3, or x2, or x0.5", USAGE) from None


def probability(name: str, text: str) -> float:
    """Parse the value of ``name``: ``0.25`` or ``25%``. Raises :class:`CliError`."""
    try:
        part = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        part = -1.0
    if not 0 <= part <= 1:
        raise CliError(f"{name}={text} is not a probability: 0 to 1, or 0% to 100%", USAGE)
    return part


def duration(seconds: float) -> str:
    """Format seconds: ``75`` -> ``1m15s``; ``90061`` -> ``1d01h01m``."""
    s = int(seconds)
    if s < 60:
        return f"{s}s"
    if s < 3600:
        return f"{s // 60}m{s % 60:02d}s"
    if s < 86400:
        return f"{s // 3600}h{s % 3600 // 60:02d}m"
    return f"{s // 86400}d{s % 86400 // 3600:02d}h{s % 3600 // 60:02d}m"


def put_text(text: str, output: Path | None) -> None:
    """Write a text to the file of ``-o``, or print it. Raises :class:`CliError`."""
    if output is None:
        print(text, end="")
        return
    try:
        publish_text(output, text)
    except OSError as e:
        raise CliError(f"-o {output}: cannot be written: {e.strerror or e}") from None


def short_path(path: Path) -> str:
    """The path as short as it can be named from here: a report need not name the user's home."""
    plain, here = Path(os.path.normpath(path.absolute())), Path.cwd()
    inside = plain.is_relative_to(here) and here != here.parent
    return str(plain.relative_to(here) if inside else plain)
