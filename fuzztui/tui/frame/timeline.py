"""The line of a replay: position, speed, and where the findings are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.message import Message

from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, width_of
from fuzztui.tui.labels.glyphs import finding_sign

Mark = tuple[float, str]
"""Campaign time in seconds, and category of the finding."""


@dataclass(frozen=True, slots=True)
class Position:
    """The state of the replay clock. Times are campaign times in seconds."""

    t: float = 0.0
    end: float = 0.0
    speed: float = 1.0
    playing: bool = False


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
        self._marks: Sequence[Mark] = ()
        self._bar = 1

    def show(self, position: Position, marks: Sequence[Mark]) -> None:
        """Draw the clock's ``position`` and the findings of the whole campaign."""
        self._position, self._marks = position, marks
        self.repaint()

    def clicked(self, click: str, at: int) -> None:
        """Seek to the clicked cell; ``click`` is the cell where the clicked span starts."""
        p = self._position
        cell = int(click) + at
        self.post_message(self.SeekRequested(p.end * cell / max(1, self._bar - 1)))

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw play sign, speed, time, bar and end."""
        p = self._position
        left = [
            TextSpan(" ▶ " if p.playing else " ‖ ", "bold running" if p.playing else "bold paused"),
            TextSpan(f"{p.speed:g}x ".rjust(6), "muted"),
            TextSpan(f"{format.clock(p.t)} ", "bold"),
        ]
        right = [TextSpan(f" {format.clock(p.end)} ", "muted")]
        self._bar = bar = max(1, width - width_of(left) - width_of(right))
        at = self._cell(p.t)
        cells = [("━", "primary") if i < at else ("─", "gauge") for i in range(bar)]
        for t, category in self._marks:
            cells[self._cell(t)] = (finding_sign(category), category)
        if bar > 1:
            cells[at] = ("●" if cells[at][0] in "━─" else cells[at][0], "bold primary reverse")
        return [[*left, *_runs(cells), *right]]

    def _cell(self, t: float) -> int:
        end = self._position.end
        share = t / end if end > 0 else 0.0
        return round(min(1.0, max(0.0, share)) * (self._bar - 1))


def _runs(cells: Sequence[tuple[str, str]]) -> list[TextSpan]:
    out: list[TextSpan] = []
    for i, (text, style) in enumerate(cells):
        if out and out[-1].style == style:
            out[-1] = TextSpan(out[-1].text + text, style, out[-1].click)
        else:
            out.append(TextSpan(text, style, str(i)))
    return out
