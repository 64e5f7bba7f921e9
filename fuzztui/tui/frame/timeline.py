"""The line of a replay: position, speed, marks, and the kind of marks to which keys jump."""

from __future__ import annotations

import math
from dataclasses import dataclass

from textual.message import Message

from fuzztui.kernel.wire.finding_kinds import KINDS as FINDING_KINDS
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, merged, painter, width_of
from fuzztui.tui.frame.replay_marks import ANY, EDGE, FINDING, KINDS, SIGNS, Marks

_KIND = "replay.kind"

SEEN_UNDER = frozenset(kind.category for kind in FINDING_KINDS)
"""Styles of marks that are shown also at the current moment: those of findings."""

NARROW = {ANY: "*", FINDING: "✗", **{kind: sign for kind, (sign, _) in SIGNS.items()}}
"""What stands for the kind to which keys jump in a narrow terminal."""

LATER_EDGE = "╵"
"""The sign of new edges after the current moment."""


@dataclass(frozen=True, slots=True)
class Position:
    """The state of the replay clock. Times are campaign times in seconds."""

    t: float = 0.0
    end: float = 0.0
    speed: float = 1.0
    playing: bool = False
    kind: str = ANY
    """The kind of marks to which keys jump."""


class Timeline(Canvas):
    """A bar over the whole campaign; a click seeks."""

    DEFAULT_CSS = "Timeline { height: 1; background: $surface; }"

    class SeekRequested(Message):
        """The bar was clicked at campaign time ``t``."""

        def __init__(self, t: float) -> None:
            super().__init__()
            self.t = t

    def __init__(self) -> None:
        super().__init__()
        self._position = Position()
        self._marks = Marks()
        self._bar = 1

    def show(self, position: Position, marks: Marks) -> None:
        """Draw the clock's ``position`` and the marks of the whole campaign."""
        self._position, self._marks = position, marks
        self.repaint()

    def clicked(self, click: str, at: int) -> None:
        """Seek to the clicked cell; ``click`` is the cell where the clicked span starts."""
        if click == _KIND:
            painter(self).perform(_KIND)
            return
        p = self._position
        cell = int(click) + at
        self.post_message(self.SeekRequested(p.end * cell / max(1, self._bar - 1)))

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw play sign, speed, time, bar, end, and the kind to which keys jump."""
        p = self._position
        left = [
            TextSpan(" ▶ " if p.playing else " ‖ ", "bold running" if p.playing else "bold paused"),
            TextSpan(f"{p.speed:g}x ".rjust(6), "muted"),
            TextSpan(f"{format.clock(p.t)} ", "bold"),
        ]
        right = [TextSpan(f" {format.clock(p.end)} ", "muted"), *self._jumps(width)]
        self._bar = bar = max(1, width - width_of(left) - width_of(right))
        at = self._cell(p.t)
        cells = [("━", "primary") if i < at else ("─", "gauge") for i in range(bar)]
        if bar > 1:
            for i in range(bar if p.end > 0 else 0):
                cells[i] = self._marks.sign(*self._times(i)) or cells[i]
                if i >= at and cells[i] == SIGNS[EDGE]:
                    cells[i] = (LATER_EDGE, "edge")  # many edges: what was played stays visible
            glyph, style = cells[at]
            cells[at] = (glyph if style in SEEN_UNDER else "●", "bold primary reverse")
        return [[*left, *merged(cells, clicks=True), *right]]

    def _jumps(self, width: int) -> list[TextSpan]:
        """The kind to which keys jump, and how many of its marks were passed, as room allows."""
        kind = self._position.kind
        passed, every = self._marks.count(kind, self._position.t)
        if not every:
            return []
        if width < 60:
            return [TextSpan(f"{NARROW[kind]} ", "bold", _KIND)]
        # Always as wide as the widest kind, so that the bar keeps its length.
        wide = max(map(len, (ANY, *KINDS)))
        number = f" {passed:,} of {every:,} passed" if width >= 90 else ""
        room = 2 * len(f"{self._marks.count(ANY, 0)[1]:,}") + 12 if number else 0
        return [
            TextSpan("next: ", "muted", _KIND),
            TextSpan(kind, "bold", _KIND),
            TextSpan(number.ljust(room + wide - len(kind)) + " ", "muted", _KIND),
        ]

    def _times(self, cell: int) -> tuple[float, float]:
        """The campaign times that a cell of the bar shows: the first, and the first after it."""
        last = self._bar - 1
        end = self._position.end
        low = (cell - 0.5) / last * end if cell else -math.inf
        return low, (cell + 0.5) / last * end if cell < last else math.inf

    def _cell(self, t: float) -> int:
        end = self._position.end
        share = t / end if end > 0 else 0.0
        return round(min(1.0, max(0.0, share)) * (self._bar - 1))
