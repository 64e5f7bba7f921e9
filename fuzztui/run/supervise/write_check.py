"""Report run directories in which nothing can be written, while the log still can.

An engine waits until it can save, and cannot report that: its messages would be written to the same
directory. The log may be writable anyway, because its file is open already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from fuzztui.kernel.base.files import check_writable
from fuzztui.kernel.wire.events import Event, Message


class Notice:
    """Joins the messages of several parts into one: :class:`RunLock` has room for one."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._texts: dict[str, str] = {}

    def setter(self, part: str) -> Callable[[str], None]:
        """Return the function that this part calls with its message, or with an empty string."""
        return partial(self._set, part)

    def _set(self, part: str, text: str) -> None:
        self._texts[part] = text
        self._show("; ".join(filter(None, self._texts.values())))


class WriteCheck:
    """Tries to write in directories. Call :meth:`check` every few seconds."""

    def __init__(self, record: Callable[[Event], object], trouble: Callable[[str], None]) -> None:
        """``trouble`` is called with a message when writing fails, with "" when it works again."""
        self._record, self._trouble = record, trouble
        self._failed: Path | None = None

    async def check(self, directories: Iterable[Path]) -> None:
        """Try to write in these directories; report a change."""
        failure = await asyncio.to_thread(_first_failure, tuple(directories))
        if failure is None:
            if self._failed is not None:
                self._trouble("")
                self._record(Message("info", f"{self._failed} can be written again"))
            self._failed = None
        elif self._failed is None:
            self._failed, why = failure
            text = (
                f"nothing can be saved in {self._failed}: {why}; the engines wait. Make the"
                " directory writable, or free space on the disk"
            )
            self._record(Message("error", text))
            self._trouble(text)


def _first_failure(directories: Sequence[Path]) -> tuple[Path, str] | None:
    for directory in directories:
        try:
            check_writable(directory)
        except FileNotFoundError:
            continue  # watch_directory handles a deleted directory
        except OSError as e:
            return directory, e.strerror or str(e)
    return None
