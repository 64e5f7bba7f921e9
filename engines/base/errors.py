"""The ways in which an engine ends other than by a crash of its own."""

from __future__ import annotations

__all__ = [
    "AFRESH",
    "CANNOT_START",
    "LIMITED",
    "RECYCLE",
    "CannotStart",
    "Limited",
    "RecycleWorker",
    "RestartWorker",
    "Stopping",
]  # fmt: skip

CANNOT_START = 3
"""Exit status of an engine that cannot start: restarting it is of no use."""

RECYCLE = 4
"""Exit status of a worker whose memory is used up: a clean one continues."""


AFRESH = 5
"""Exit status of a worker whose target's state is not to be trusted any more."""


LIMITED = 6
"""Exit status of a worker that can no longer save anything: the target lowered a hard limit."""


class RestartWorker(Exception):
    """A clean worker must go on; what made this one unclean is noted."""


class Limited(Exception):
    """A target has lowered this hard resource limit; ``number``: as in module ``resource``."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class RecycleWorker(Exception):
    """The target has leaked the worker's memory away: the trial in progress belongs to the next."""


class CannotStart(Exception):
    """The engine cannot start. The message is for the user: what, where, what to do.

    ``detail`` is more for ``worker.log``, such as a traceback.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class Stopping(Exception):
    """The campaign was told to stop while something waited (a full disk, a pause)."""
