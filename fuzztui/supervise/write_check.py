"""Report run directories in which nothing can be written, while the log still can.

An engine waits until it can save, and cannot report that: its messages would be written to the same
directory. The log may be writable anyway, because its file is open already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from fuzztui.base.files import check_writable
from fuzztui.wire.events import Event, Message

__all__ = ["Notice", "WriteCheck"]


class Notice:
    """One text of what several parts report: there is room for one (:class:`RunLock`)."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._texts: dict[str, str] = {}

    def setter(self, part: str) -> Callable[[str], None]:
        """What this part calls with its words, and with "" when there is nothing to report."""
        return partial(self._set, part)

    def _set(self, part: str, words: str) -> None:
        self._texts[part] = words
        self._show("; ".join(filter(None, self._texts.values())))


class WriteCheck:
    """Tries to write in directories. :meth:`look` now and then."""

    def __init__(self, record: Callable[[Event], object], trouble: Callable[[str], None]) -> None:
        """``trouble`` is called with words while nothing can be written, with "" when it can."""
        self._record, self._trouble = record, trouble
        self._failed: Path | None = None

    async def check(self, directories: Iterable[Path]) -> None:
        """Try these; report a change."""
        failure = await asyncio.to_thread(_first_failure, tuple(directories))
        if failure is None:
            if self._failed is not None:
                self._trouble("")
                self._record(Message("info", f"{self._failed} can be written again"))
            self._failed = None
        elif self._failed is None:
            self._failed, why = failure
            words = (
                f"nothing can be saved in {self._failed}: {why}; the engines wait until it can, so"
                " make it writable, with room on the disk"
            )
            self._record(Message("error", words))
            self._trouble(words)


def _first_failure(directories: Sequence[Path]) -> tuple[Path, str] | None:
    for directory in directories:
        try:
            check_writable(directory)
        except FileNotFoundError:
            continue  # one that was deleted is made again, and reported, elsewhere
        except OSError as e:
            return directory, e.strerror or str(e)
    return None
