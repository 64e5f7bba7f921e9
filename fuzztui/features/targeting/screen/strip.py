"""Type targeting: in the strip above the tables, in a line and a list of the Overview."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzztui.features.targeting.fold import (
    GoalRow,
    TargetingSummary,
    goal_rows,
    reached_share,
    targeting_summary,
)
from fuzztui.features.targeting.screen.labels import (
    IGNORED,
    PINNED,
    brief_location,
    brief_type,
    sign_of,
)
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.targeting import have_changed, remedy
from fuzztui.tui.base import format
from fuzztui.tui.base.bars import Part, parted_bar
from fuzztui.tui.base.canvas import Line, TextSpan, spread, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.host import host
from fuzztui.tui.frame.overview_line import MAX_LISTED, AsideList, AsideRow, OverviewLine
from fuzztui.tui.frame.strip import StatusCanvas
from fuzztui.tui.labels.status import Status

KEYS = " [ ]"
"""Keys that change the targeted share."""

COVERED, FRONTIER, FURTHER = ("█", "valid"), ("▓", "rate"), ("░", "muted")
"""Fills and styles of the parts of the bar."""


class TargetingStrip(StatusCanvas):
    """Three lines; with room for one, numbers only. Empty without types."""

    DEFAULT_CSS = "TargetingStrip { height: 3; }"

    def __init__(self) -> None:
        super().__init__()
        self._asked: Sequence[str] = ()
        self._who = ""
        self._next: Sequence[tuple[str, float]] = ()
        self._aim: TargetingSummary | None = None

    def show_aim(self, aim: TargetingSummary | None, status: Status) -> None:
        """Draw what is targeted now."""
        self._aim = aim
        self.display = aim is not None
        self.show(status)

    def ask(self, asked: Sequence[str], who: str) -> None:
        """Set labels of the pending commands, and a text about the instances that must answer."""
        self._asked, self._who = asked, who
        self.repaint()

    def show_next(self, likely: Sequence[tuple[str, float]]) -> None:
        """Set the types that are most likely drawn next, with their probabilities."""
        self._next = likely
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the bar, the uncovered goals, and pending commands, the pin, or the next types."""
        aim = self._aim
        if aim is None:
            return []
        status = self._status
        live = status.mode == "live" and not (status.over or status.watched)
        words = targeted_spans(aim, KEYS if live else "")
        if height == 1:
            return [self._only(aim, words, width)]
        bar: Line = [TextSpan(" "), *_bar(aim, width - 2)]
        return [bar, fitting(uncovered_spans(aim), words, width), self._last(aim, width)]

    def _only(self, aim: TargetingSummary, words: Sequence[Line], width: int) -> Line:
        """Everything in one line."""
        if self._asked:
            return self._last(aim, width)
        return fitting(uncovered_spans(aim), words, width)

    def _last(self, aim: TargetingSummary, width: int) -> Line:
        if self._asked:
            words = plain(f" → {', '.join(self._asked)}", max(8, width - 12))
            who = [TextSpan(f"{plain(self._who, 60)} ", "pending")]
            return spread([TextSpan(words, "bold pending")], who, width)
        if aim.pinned:
            room = max(12, width - 24)
            where = plain(brief_location(aim.pinned, room))
            left = [
                TextSpan(f" {PINNED.glyph} pinned ", f"bold {PINNED.style}"),
                TextSpan(where, "bold"),
            ]
            return spread(left, [TextSpan("only this goal is targeted ", "muted")], width)
        if aim.changed and not aim.frontier:
            return [TextSpan(f" {remedy(aim.changed, over=self._status.over)}", "pending")]
        return self._drawn_next(aim, width)

    def _drawn_next(self, aim: TargetingSummary, width: int) -> Line:
        likely = [(name, chance) for name, chance in self._next if chance]
        if not likely:
            why = "no type is drawn: no mutation is targeted"
            if aim.is_over:
                why = "all goals are covered: mutations are random, to find failures"
            return [TextSpan(f" {why}", "muted")]
        line = [TextSpan(" next ", "muted")]
        for n, (name, chance) in enumerate(likely):
            words = [
                TextSpan(", " if n else "", "muted"),
                TextSpan(plain(brief_type(name, 30)), "edge"),
                TextSpan(f" {format.share(chance)}"),
            ]
            if width_of([*line, *words]) >= width:
                break
            line += words
        return line


def fitting(left: Line, rights: Sequence[Line], width: int) -> Line:
    """Return ``left`` with the first of ``rights`` that fits."""
    for right in rights:
        if width_of(left) + width_of(right) < width:
            return spread(left, right, width)
    return left


def targeted_spans(aim: TargetingSummary, keys: str = "") -> list[Line]:
    """Return the targeted share as texts of several lengths; none if no goal is left."""
    if aim.is_over:
        return []
    share = format.share(aim.targeted)
    moves = TextSpan(keys, "primary")
    return [
        [
            TextSpan("   ", ""),
            TextSpan(share, "bold"),
            TextSpan(" of mutations targeted" + ", adaptive" * aim.adaptive, "muted"),
            moves,
            TextSpan(" "),
        ],
        [TextSpan("  targeted ", "muted"), TextSpan(share, "bold"), moves, TextSpan(" ")],
        [TextSpan(" "), TextSpan(share, "bold"), TextSpan(" ")],
    ]


def uncovered_spans(aim: TargetingSummary) -> list[TextSpan]:
    """Return the numbers of uncovered goals and of goals on the frontier."""
    if aim.changed and not aim.uncovered:
        return [TextSpan(f" {plain(have_changed(aim.changed))} since the analysis", "pending")]
    if not aim.targets:
        return [TextSpan(" no goal is known yet", "muted")]
    if not aim.uncovered:
        are = "is" if aim.targets == 1 else "are"
        return [TextSpan(f" all {several(aim.targets, 'goal')} {are} covered", "bold valid")]
    ignored = f"  {IGNORED.glyph} {len(aim.ignored):,} ignored" if aim.ignored else ""
    return [
        TextSpan(f" {aim.uncovered:,}", "bold"),
        TextSpan(f" of {several(aim.targets, 'goal')} uncovered, "),
        TextSpan(f"{FRONTIER[0]} ", FRONTIER[1]),
        TextSpan(f"{aim.frontier:,}", "bold"),
        TextSpan(" on the frontier"),
        TextSpan(ignored, IGNORED.style),
        TextSpan(
            f"  ≠ {several(len(aim.changed), 'file')} changed" if aim.changed else "", "pending"
        ),
    ]


def _bar(aim: TargetingSummary, width: int) -> list[TextSpan]:
    """A bar of all goals: covered, on the frontier, further off."""
    covered = max(0, aim.targets - aim.uncovered)
    further = max(0, aim.uncovered - aim.frontier)
    parts = [
        Part(covered, *COVERED, f"covered {covered:,}"),
        Part(min(aim.frontier, aim.uncovered), *FRONTIER, f"{aim.frontier:,}"),
        Part(further, *FURTHER, f"further off {further:,}"),
    ]
    return parted_bar(parts, width)


class TargetingLine(OverviewLine):
    """Uncovered goals, the pin, the targeted share. Hidden until an engine has reported types."""

    def content(self, width: int) -> list[Line]:
        """Draw one line."""
        aim = targeting_summary(host(self).campaign)
        if aim is None:
            return []
        left = uncovered_spans(aim)
        if aim.pinned:
            room = width - width_of(left) - 16
            where = plain(brief_location(aim.pinned, max(8, room)))
            left += [TextSpan(f"   {PINNED.glyph} {where}", PINNED.style)]
        return [fitting(left, targeted_spans(aim), width)]


def lines() -> list[OverviewLine]:
    """The lines that the feature adds to the Overview."""
    return [TargetingLine()]


class UncoveredGoals(AsideList):
    """A row for each goal, the frontier first."""

    TAB = "types"
    TITLE = "Uncovered goals"
    RIGHT = "reached by"

    def __init__(self) -> None:
        self._goals: Sequence[GoalRow] = ()

    def look(self, state: State) -> bool:
        """Take the goals."""
        self._goals = [*goal_rows(state).values()][:MAX_LISTED]
        return bool(self._goals)

    def rows(self, width: int) -> Iterator[AsideRow]:
        """Yield sign and location of each goal, and the share of trials that reached it."""
        for goal in self._goals:
            sign, share = sign_of(goal), reached_share(goal)
            reached = format.percent(share, 1.0) if share > 0 else "no input"
            where = plain(brief_location(goal.location, max(8, width - 16)))
            left = [TextSpan(f" {sign.glyph} ", sign.style), TextSpan(where)]
            yield AsideRow(goal.location, left, TextSpan(f"  {reached} ", "muted"))


def lists() -> list[AsideList]:
    """The lists that the feature adds to the Overview."""
    return [UncoveredGoals()]
