"""Looks at all runs, for the home screen. Blocking: called in threads, one at a time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fuzztui.run.home.listing import RunList
from fuzztui.run.home.look import RunLook
from fuzztui.run.home.summary import RunSummary
from fuzztui.tui.base import format
from fuzztui.tui.base.user_state import Look
from fuzztui.tui.labels.runs import RunRow
from fuzztui.tui.screens.home.panes import PaneContent, pane_content
from fuzztui.tui.screens.home.preview import HomePreview, read_preview

FIND_S: Final = 15.0
"""Seconds between two searches for runs."""
LIVE_S: Final = 0.1
"""Seconds of reading the log of one running campaign in a look."""
READ_S: Final = 0.5
"""Seconds of reading logs that were not read yet, in a look."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of one look: rows of the table, and contents of panes."""

    rows: dict[str, RunRow] = field(default_factory=dict)
    panes: Sequence[PaneContent] = ()
    preview: HomePreview | None = None
    left: int = 0
    """Runs that are not read to their ends yet."""


class HomeLooks:
    """Reads those runs of a list that may have changed since the last look."""

    def __init__(
        self,
        runs: RunList,
        lock: threading.Lock,
        last_look: Callable[[Path], Look],
        wall: Callable[[], float],
    ) -> None:
        """``lock`` is held while a thread uses ``runs``; ``wall`` returns the Unix time."""
        self._runs, self._lock = runs, lock
        self._last_look, self._wall = last_look, wall
        self._found_at = -FIND_S
        self._preview: HomePreview | None = None
        self._new: dict[Path, tuple[RunSummary, int]] = {}
        """The number of new groups of each run, and the summary for which it was counted."""

    def find_soon(self) -> None:
        """Search for runs in the next look."""
        self._found_at = -FIND_S

    def look(self, beside: Sequence[Path], at: Path | None = None) -> Seen:
        """Return all runs as they are now, what the panes of some of them show, and the preview of
        the run ``at``.
        """
        with self._lock:
            return self._look(beside, at)

    def _look(self, beside: Sequence[Path], at: Path | None) -> Seen:
        runs, now = self._runs, time.monotonic()
        if now - self._found_at >= FIND_S:
            self._found_at = now
            runs.find()
            self._new.clear()
            due = runs.looks  # all: one that had ended may have been resumed
        else:
            due = [look for look in runs.looks if look.pid is not None]
        for _ in runs.refresh([look for look in due if look.done], LIVE_S):
            pass
        end = time.monotonic() + READ_S
        for look in sorted(runs.unread, key=lambda look: look.summary.state != ""):
            if time.monotonic() >= end:
                break
            for _ in runs.refresh([look], LIVE_S):
                pass
        rows = {str(look.run): self._row(look) for look in runs.looks}
        states = {look.run: look.state for look in runs.looks}
        panes = [pane_content(rows[str(path)], states[path]) for path in beside if path in states]
        shown = next((look for look in runs.looks if look.run == at and look.summary.state), None)
        self._preview = None if shown is None else read_preview(shown, self._preview)
        return Seen(rows, panes, self._preview, len(runs.unread))

    def _row(self, look: RunLook) -> RunRow:
        of = look.summary
        age = max(0.0, self._wall() - of.started)
        supervised = look.pid is not None
        return RunRow(
            look.run,
            _short(look.run),
            of,
            supervised,
            look.trouble,
            self._new_groups(look),
            format.age(age) if of.started else format.NONE,
            not supervised
            and of.state != "finished"
            and os.access(look.run / "campaign.toml", os.R_OK),
        )

    def _new_groups(self, look: RunLook) -> int:
        known = self._new.get(look.run)
        if known is not None and known[0] is look.summary:
            return known[1]
        of = look.summary
        new = of.new_groups(self._last_look(look.run)) if of.group_count else 0
        self._new[look.run] = of, new
        return new


def _short(path: Path) -> str:
    """The path as short as it can be named from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return os.fspath(path)
