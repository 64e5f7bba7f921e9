"""The lines above and below the table of runs, and those of what can be started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuzztui.kernel.base.text import several
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, spread
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.runs import RunRow, detail
from fuzztui.tui.screens.home.looks import Seen


class HomeHeader(Canvas):
    """How many runs there are."""

    DEFAULT_CSS = "HomeHeader { height: 1; background: $panel; }"

    def __init__(self) -> None:
        super().__init__()
        self._seen: tuple[int, int, int, int] | None = None
        self._problem = ""

    def show(self, seen: Seen, problem: str = "") -> None:
        """Count the rows."""
        rows = seen.rows.values()
        counts = (len(rows), sum(r.supervised for r in rows), sum(r.new for r in rows), seen.left)
        self._seen, self._problem = counts, problem
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the line."""
        left = [TextSpan("fuzztui", "bold primary"), TextSpan(" home  ", "bold")]
        if self._problem:
            return [[*left, TextSpan(plain(self._problem, 200), "pending")]]
        if self._seen is None:
            return [[*left, TextSpan("searching for runs…", "muted")]]
        runs, live, new, unread = self._seen
        left.append(TextSpan(several(runs, "run")))
        left.append(TextSpan(f"  {live} under way", "running" if live else "muted"))
        if new:
            left.append(TextSpan(f"  {several(new, 'new group')}", "bold crash"))
        reading = f"reading {several(unread, 'log')}…" if unread else ""
        return [spread(left, [TextSpan(reading, "muted")], width)]


class HomeDetail(Canvas):
    """The run under the cursor."""

    DEFAULT_CSS = "HomeDetail { height: 2; padding: 0 1; }"

    def __init__(self) -> None:
        super().__init__()
        self._row: RunRow | None = None

    def show(self, row: RunRow | None) -> None:
        """Show a row."""
        self._row = row
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw two lines."""
        return [] if self._row is None else detail(self._row, width)


OWN = "own"
"""The answer for a campaign of the user's own."""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample campaign."""

    file: str
    title: str
    needs: str = ""
    """What must be installed for it; an empty string: nothing is missing."""


def startable(samples: Sequence[SampleRow], own: str) -> dict[str, str]:
    """Return the rows of the list of what can be started: ``own`` by :data:`OWN`, then samples.

    The texts of samples are by their file names.
    """
    room = max((len(s.file) for s in samples), default=0) + 2
    rows = {OWN: own}
    for s in samples:
        needs = f"{s.needs}: " if s.needs else ""
        rows[s.file] = f"{s.file:<{room}}{needs}{s.title}"
    return rows
