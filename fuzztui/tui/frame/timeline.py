"""The line of a replay: position, speed, and marks, to whose kinds keys jump."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from textual.message import Message

from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.finding_kinds import KINDS as FINDING_KINDS
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, merged, painter, width_of
from fuzztui.tui.labels.states import STEERED, finding_sign

FINDING, STEERING, KILL, EDGE = "finding", "steering", "kill", "edge"

KINDS = (FINDING, STEERING, KILL, EDGE)
"""The kinds of marks; in a cell of the timeline with several the first one is shown."""

ANY = "any mark"

MAX_TIMES = 10_000
"""Maximal marks of one kind: of more, the first one in each of as many equal periods."""

Sign = tuple[str, str]
"""A glyph and its style."""

SIGNS: dict[str, Sign] = {
    STEERING: (STEERED, "promoted"),
    KILL: ("•", "killed"),
    EDGE: ("╹", "edge"),
}
"""The signs of marks; that of a finding depends on its category."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Campaign times in seconds by kind, in order of time; findings with their categories."""

    findings: Sequence[tuple[float, str]] = ()
    times: tuple[Sequence[float], ...] = ((), (), (), ())
    """The times of each kind, in the order of :data:`KINDS`."""

    def __bool__(self) -> bool:
        return any(self.times)

    def of(self, kind: str) -> Sequence[float]:
        """Return the times of one kind."""
        return self.times[KINDS.index(kind)]

    def kinds(self) -> list[str]:
        """Return the kinds to which one can jump: those with marks, after :data:`ANY`."""
        return [ANY, *(kind for kind in KINDS if self.of(kind))]

    def first_kind(self) -> str:
        """Return the most interesting kind that the campaign has."""
        return next((kind for kind in (FINDING, KILL, EDGE, STEERING) if self.of(kind)), ANY)

    def after(self, kind: str, t: float) -> float | None:
        """Return the time of the next mark after ``t``; None: there is none."""
        later = (times[bisect_right(times, t) :][:1] for times in self._all(kind))
        return min((t for times in later for t in times), default=None)

    def before(self, kind: str, t: float) -> float | None:
        """Return the time of the last mark before ``t``; None: there is none."""
        earlier = (times[: bisect_left(times, t)][-1:] for times in self._all(kind))
        return max((t for times in earlier for t in times), default=None)

    def count(self, kind: str, t: float) -> tuple[int, int]:
        """Return how many marks there are up to ``t``, and in all."""
        every = self._all(kind)
        return sum(bisect_right(times, t) for times in every), sum(map(len, every))

    def sign(self, low: float, high: float) -> Sign | None:
        """Return the sign of what happened from ``low`` to before ``high``; None: nothing."""
        for kind, times in zip(KINDS, self.times, strict=True):
            i = bisect_left(times, low)
            if i < len(times) and times[i] < high:
                if kind != FINDING:
                    return SIGNS[kind]
                category = self.findings[i][1]
                return finding_sign(category), category
        return None

    def _all(self, kind: str) -> Sequence[Sequence[float]]:
        return self.times if kind == ANY else (self.of(kind),)


def marks_of(state: State) -> Marks:
    """Return the marks of a whole campaign: groups of findings, new edges, kills and commands.

    A group has its mark at its first finding. Of older commands, which the state does not keep,
    there is one mark in each part of the campaign's time.
    """
    findings = sorted((f.t, f.category) for f in state.findings.values() if f.first)
    kept = _thin(findings, state.t)
    commands = {c.t for c in state.commands.values()}
    if (older := state.series.get("commands")) is not None:
        commands.update(older.times)
    kills = (m.killed_t for m in state.mutants.values() if m.killed_t >= 0)
    edges = (
        e.t
        for e in state.entries.values()
        if e.cov or "edge" in e.reasons or "valid-edge" in e.reasons
    )
    rest = (_thin(sorted((t, "") for t in times), state.t) for times in (commands, kills, edges))
    return Marks(kept, tuple([t for t, _ in each] for each in (kept, *rest)))


def _thin(marks: Sequence[tuple[float, str]], end: float) -> list[tuple[float, str]]:
    if len(marks) <= MAX_TIMES or end <= 0:
        return list(marks[:MAX_TIMES])
    firsts: dict[int, tuple[float, str]] = {}
    for mark in marks:
        firsts.setdefault(min(MAX_TIMES - 1, int(mark[0] / end * MAX_TIMES)), mark)
    return list(firsts.values())


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
