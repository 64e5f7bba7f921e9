"""Events that report: texts, what ``notify.command`` has reported, lost records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from fuzztui.kernel.wire.events.base import Event

UNGUIDED: Final = "unguided"
"""No input has executed instrumented code, so that coverage guides nothing."""

VARYING: Final = "varying"
"""Entries vary between two runs, because the program reads a clock or draws random numbers."""


PRINTED: Final = "printed"
"""A warning that the engine has printed, in its words."""


@dataclass(frozen=True, slots=True)
class Message(Event, kind="message", by_engines=True):
    """A text for the event list. ``level``: info, warning or error.

    ``about``: :data:`UNGUIDED`, if the text says why (``Instance.unguided``); :data:`VARYING`;
    :data:`PRINTED`; else empty.
    """

    level: str
    text: str
    instance: str = ""
    about: str = ""


NEW_FINDINGS: Final = "findings"
STALL: Final = "stall"
END: Final = "end"
NEWS: Final = (NEW_FINDINGS, STALL, END)
"""What ``notify.command`` can report."""


@dataclass(frozen=True, slots=True)
class Notified(Event, kind="notified"):
    """``notify.command`` was run. ``news``: one of :data:`NEWS`; ``text``: the line that it got.

    ``findings``: ``"instance/file"`` of the first finding of each new group: these groups are not
    reported again. ``problem``: why the command failed, a text; an empty string: it succeeded.
    After a failure ``findings`` is empty, because they are reported again.
    """

    news: str
    text: str = ""
    findings: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RecordsLost(Event, kind="records_lost"):
    """Replaces, in a repaired log, the lost records from number ``first`` to its own number.

    All counts of the campaign are lower bounds from here on. ``reason``: how they were lost.
    """

    first: int
    reason: str = ""
