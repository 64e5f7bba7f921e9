"""The targets of a watch that has several, in place of the tiles, whose totals would mix them."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.watched_targets import WatchedTarget
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan, spread
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.frame.strip import StatusCanvas
from fuzztui.tui.labels.status import Status

COLUMNS = (
    ("running", 8, ""), ("exec/s", 8, "rate"), ("lifetime", 9, "rate"), ("edges", 14, "edge"),
    ("entries", 8, "corpus"), ("crashes", 8, "crash"), ("hangs", 6, "hang"), ("last new", 9, ""),
)  # fmt: skip
"""Title, cells and style of the figures of each target."""

DISPENSABLE = ("hangs", "entries", "lifetime", "last new")
"""Titles of columns in the order in which they are left out, if there is no room."""

NAME = 14
"""Cells of the name of a target for which columns are left out."""

SHARE = 3
"""A third of the lines of the terminal shows targets at most."""


class Targets(StatusCanvas):
    """A title, a line for each target, the machine."""

    DEFAULT_CSS = "Targets { height: 4; display: none; }"

    def show(self, status: Status) -> None:
        """Draw ``status``."""
        self.styles.height = min(len(status.targets), max(2, self.app.size.height // SHARE)) + 2
        super().show(status)

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw as many targets as fit whole."""
        columns = [*COLUMNS]
        for title in DISPENSABLE:
            if sum(cells for _, cells, _ in columns) + NAME + 1 > width:
                columns = [column for column in columns if column[0] != title]
        room = max(0, width - sum(cells for _, cells, _ in columns) - 1)
        titles = "".join(title.rjust(cells) for title, cells, _ in columns)
        lines: list[Line] = [[TextSpan(f" {'target'.ljust(room)}{titles}", "muted")]]
        shown = self._status.targets[: max(0, height - 2)]
        lines += [self._target(of, room, columns) for of in shown]
        left = len(self._status.targets) - len(shown)
        more = [TextSpan(f" and {several(left, 'more target')}" if left else "", "muted")]
        machine = self._status.machine and f"this machine: {self._status.machine} "
        return [*lines, spread(more, [TextSpan(machine, "muted")], width)]

    def _target(
        self, of: WatchedTarget, room: int, columns: Sequence[tuple[str, int, str]]
    ) -> Line:
        share = f" {format.percent(of.edges, of.edges_total)}" if of.edges_total > 0 else ""
        figures = {
            "running": f"{of.running}/{len(of.instances)}",
            "exec/s": format.rate(-1.0 if self._status.orphaned else of.execs_per_sec),
            "lifetime": format.rate(of.lifetime_execs_per_sec),
            "edges": (format.count(of.edges) if of.edges >= 0 else format.NONE) + share,
            "entries": format.count(of.corpus),
            "crashes": format.count(of.crashes),
            "hangs": format.count(of.hangs),
            "last new": self._status.when(of.last_find_s).removeprefix("at "),
        }
        cells = ((figures[title], width, style) for title, width, style in columns)
        return [
            TextSpan(f" {fit(plain(of.name), room - 1)} ", "bold"),
            *(
                TextSpan(t.rjust(width), "muted" if t == "0" else style)
                for t, width, style in cells
            ),
        ]
