"""Exit statuses, exceptions with which an engine ends on purpose, and diagnostics."""

from __future__ import annotations

from dataclasses import dataclass

CANNOT_START = 3
"""Exit status of an engine that cannot start; restarting would not help."""

RECYCLE = 4
"""Exit status of a worker whose memory is used up; a fresh worker continues."""

RESTART = 5
"""Exit status of a worker whose target has a changed state; a fresh worker continues."""

STUCK = 7
"""Exit status of an engine that found no new edge in ``spec.stuck_trials`` trials."""

LIMITED = 6
"""Exit status of a worker that cannot save files: the target lowered a hard resource limit."""


class RestartWorker(Exception):
    """A fresh worker must continue; the suspect mutants or inputs are recorded."""


class Limited(Exception):
    """The target has lowered a hard resource limit. ``number``: as in module ``resource``."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class RecycleWorker(Exception):
    """The target has used up the worker's memory; a fresh worker continues."""


class CannotStart(Exception):
    """The engine cannot start. The message for the user: where, what is wrong, what to do.

    ``detail``: additional text for ``worker.log``, such as a traceback.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class Stopping(Exception):
    """A stop was requested while the engine waited, for example for a full disk."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message about the campaign file. ``warns``: a warning, else a note.

    ``key``: the key that the message is about; empty: none.
    """

    words: str
    key: str = ""
    warns: bool = False
