"""The two lines of a replay: position, speed, gains and marks, to which keys jump; their names."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from textual import events
from textual.message import Message

from fuzztui.kernel.base.text import listed, several
from fuzztui.kernel.model.gains import Gain, Gains, levels, ranking
from fuzztui.kernel.model.state import State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, merged, painter, spread, width_of
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.frame.heat import heat_cell
from fuzztui.tui.frame.marks import ANY, KINDS, Marks, marks_of

_NAMED = 3
"""Entries of a gain that are named in a terminal of :data:`_WIDE` cells; else it is one."""
_WIDE = 100

_KIND = "replay.kind"

NEAR_S = 1e-3
"""Seconds: a mark nearer than this is the current one, not the next or previous one."""


@dataclass(frozen=True, slots=True)
class Position:
    """The state of the replay clock. Times are campaign times in seconds."""

    t: float = 0.0
    end: float = 0.0
    speed: float = 1.0
    playing: bool = False
    kind: str = ANY
    """The kind of marks to which keys jump."""


@dataclass(frozen=True, slots=True)
class Course:
    """What a replay knows of the whole campaign."""

    marks: Marks = field(default_factory=Marks)
    gains: Gains = field(default_factory=Gains)

    @classmethod
    def of(cls, state: State) -> Course:
        """The course of a whole campaign."""
        return cls(marks_of(state), Gains.of(state, named=True))


class Timeline(Canvas):
    """A bar over the whole campaign, with the gain of each cell as its height; a click seeks.

    Below it: what the cell of the present moment, or the one under the pointer, brought.
    """

    DEFAULT_CSS = "Timeline { height: 2; background: $surface; }"

    class SeekRequested(Message):
        """The bar was clicked at campaign time ``t``."""

        def __init__(self, t: float) -> None:
            super().__init__()
            self.t = t

    def __init__(self) -> None:
        super().__init__()
        self._position = Position()
        self._course = Course()
        self._left = 0
        """Cells before the bar."""
        self._bar = 1
        self._gains: list[Gain] = []
        """The gain of each cell of the bar."""
        self._drawn: tuple[int, float, Gains] | None = None
        """What :attr:`_gains` was made for: cells, end and gains."""
        self._pointed = -1
        """The cell under the pointer; -1: none."""

    def show(self, position: Position, course: Course) -> None:
        """Draw the clock's ``position`` on the ``course`` of the whole campaign."""
        self._position, self._course = position, course
        self.repaint()

    def clicked(self, click: str, at: int) -> None:
        """Seek to the clicked cell; ``click`` is the cell where the clicked span starts."""
        if click == _KIND:
            painter(self).perform(_KIND)
            return
        p = self._position
        cell = int(click) + at
        self.post_message(self.SeekRequested(p.end * cell / max(1, self._bar - 1)))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Describe the cell under the pointer."""
        cell = event.x - self._left if event.y == 0 else -1
        self._point(cell if 0 <= cell < self._bar else -1)

    def on_leave(self) -> None:
        """Describe the present moment again."""
        self._point(-1)

    def _point(self, cell: int) -> None:
        if cell != self._pointed:
            self._pointed = cell
            self.repaint()

    def gain_by_rank(self, before: float | None, by: int) -> float | None:
        """Return the time of the gain that is ``by`` ranks smaller than the one at ``before``.

        None for ``before``: the largest gain. Returns None if there is no such gain.
        """
        ranks = self._ranks()
        times = [self._gains[n].t for n in ranks]
        wanted = times.index(before) + by if before in times else 0
        return times[wanted] if 0 <= wanted < len(times) else None

    def _ranks(self) -> list[int]:
        """The cells with a gain, the largest first; the start, which has the seeds, is the last."""
        ranks = ranking(self._gains)
        return sorted(ranks, key=lambda cell: cell == min(ranks))

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw play sign, speed, time, bar and end; below, the gain, and the marks to jump to."""
        p = self._position
        left = [
            TextSpan(" ▶ " if p.playing else " ‖ ", "bold running" if p.playing else "bold paused"),
            TextSpan(f"{p.speed:g}x ".rjust(6), "muted"),
            TextSpan(f"{format.clock(p.t)} ", "bold"),
        ]
        right = [TextSpan(f" {format.clock(p.end)} ", "muted")]
        self._left = width_of(left)
        self._bar = bar = max(1, width - self._left - width_of(right))
        self._measure()
        at = self._cell(p.t)
        cells = [("━", "primary") if i < at else ("─", "gauge") for i in range(bar)]
        if bar > 1 and p.end > 0:
            for i, (gain, level) in enumerate(zip(self._gains, levels(self._gains), strict=True)):
                sign = self._course.marks.sign(*self._times(i))
                cells[i] = sign or heat_cell(gain, level, later=i > at) or cells[i]
            glyph, style = cells[at]
            cells[at] = (glyph if glyph not in "━─" else "●", f"bold {style} reverse")
        return [[*left, *merged(cells, clicks=True), *right], self._names(width, at)]

    def _measure(self) -> None:
        gains, end = self._course.gains, self._position.end
        if self._drawn != (now := (self._bar, end, gains)):
            self._drawn = now
            self._gains = [gains.between(*self._times(i)) for i in range(self._bar)]

    def _names(self, width: int, at: int) -> Line:
        """The gain of the pointed cell, or of the present one; the marks to which keys jump."""
        jumps = self._jumps(width)
        cell = min(self._pointed, self._bar - 1) if self._pointed >= 0 else at
        text = self._gain_text(cell, _NAMED if width >= _WIDE else 1)
        room = width - width_of(jumps) - 2
        return spread([TextSpan(" "), TextSpan(fit(text, room), "muted")], jumps, width)

    def _gain_text(self, cell: int, named: int) -> str:
        gain = self._gains[cell] if self._position.end > 0 else None
        if gain is None or not gain.size:
            at = format.clock(self._position.end * cell / max(1, self._bar - 1))
            return f"{at}: no gain" if self._pointed >= 0 else ""
        ranks = self._ranks()
        brought = [f"+{several(gain.edges, 'edge')}"] if gain.edges else []
        brought += [f"+{several(gain.kills, 'kill')}"] if gain.kills else []
        brought += [plain(listed(gain.entries, named))] if gain.entries else []
        rank = "start" if cell == ranks[-1] else f"gain {ranks.index(cell) + 1:,} of {len(ranks):,}"
        return f"{format.clock(gain.t)}, {rank}: {', '.join(brought)}"

    def _jumps(self, width: int) -> list[TextSpan]:
        """The kind to which keys jump, and how many of its marks were passed, as room allows."""
        kind = self._position.kind
        passed, every = self._course.marks.count(kind, self._position.t)
        if not every:
            return []
        # Always as wide as the widest kind, so that the text before it stays.
        wide = max(map(len, (ANY, *KINDS)))
        room = 2 * len(f"{self._course.marks.count(ANY, 0)[1]:,}") + 4
        return [
            TextSpan(kind.rjust(wide), "bold", _KIND),
            TextSpan(f" {passed:,} of {every:,}".ljust(room + 1) + " ", "muted", _KIND),
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
