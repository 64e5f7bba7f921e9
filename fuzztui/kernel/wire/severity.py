"""How severe a finding is: a level and a class of casr, decided once, when a finding is described.

Standard library only: engines import this module. The classes of C programs are found by
:mod:`fuzztui.run.triage.severity`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from fuzztui.kernel.wire.events import FindingDescribed
from fuzztui.kernel.wire.finding_kinds import CRASH, HANG

EXPLOITABLE: Final = "EXPLOITABLE"
PROBABLY_EXPLOITABLE: Final = "PROBABLY_EXPLOITABLE"
NOT_EXPLOITABLE: Final = "NOT_EXPLOITABLE"
UNKNOWN: Final = "UNKNOWN"
"""What is known of the failure does not decide."""
ERROR: Final = "ERROR"
"""A wrong result or an exception: no memory bug, so none of casr's levels."""

_SHORT: Final = {
    ERROR: "error",
    NOT_EXPLOITABLE: "not expl.",
    UNKNOWN: "unknown",
    PROBABLY_EXPLOITABLE: "probably",
    EXPLOITABLE: "exploitable",
}
"""Levels, the least severe first, with their words in columns."""
_RANKS: Final = {level: rank for rank, level in enumerate(_SHORT)}


@dataclass(frozen=True, slots=True)
class Severity:
    """The severity of one finding. ``level``: empty if it was not decided."""

    level: str = ""
    name: str = ""
    """The short name of the class, as casr has it; may be empty."""
    reason: str = ""
    """One sentence."""

    def put_in(self, event: FindingDescribed) -> FindingDescribed:
        """Return the description of the finding with this severity."""
        return replace(
            event,
            severity=self.level,
            severity_class=self.name,
            severity_reason=self.reason,
        )


def rank(level: str) -> int:
    """Return a number that is greater for a more severe level; -1 if there is none."""
    return _RANKS.get(level, -1)


def short(level: str) -> str:
    """Return the words for a level in a column; the level itself if it is unknown."""
    return _SHORT.get(level, level)


def label(level: str) -> str:
    """Return the words for a level in a text: ``probably exploitable``."""
    return level.lower().replace("_", " ")


def beside(level: str) -> str:
    """Return ``, exploitable``, to follow a finding's kind; empty for errors, which have none."""
    return f", {label(level)}" if level not in ("", ERROR) else ""


NONE: Final = Severity()
TIMEOUT: Final = Severity(
    NOT_EXPLOITABLE, "timeout", "The target hangs or stops: at worst a denial of service."
)


def severity_in_python(category: str, signature: str) -> Severity:
    """Return the severity of what an in-process engine, or an oracle, has found.

    ``signature``: of the failure, such as ``ValueError @ crate.py:12 in unpack``.
    """
    if category == HANG.category:
        return TIMEOUT
    if category != CRASH.category:
        reason = "Another result than the one expected: an error, and no memory bug."
        return Severity(ERROR, category, reason)
    what, at, _ = signature.partition(" @ ")
    cause = what.partition(" saying ")[0]
    if not at or " " in cause or cause == "message":  # a process that died; a program's message
        reason = "How the target failed does not say whether memory is at fault."
        return Severity(UNKNOWN, "", reason)
    reason = "A Python exception is an error of the program, and no memory bug."
    return Severity(ERROR, cause, reason)
