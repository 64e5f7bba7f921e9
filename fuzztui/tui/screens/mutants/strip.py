"""The strip above the mutants table: score, bar of states, use of time, pruning."""

from __future__ import annotations

from collections.abc import Mapping

from fuzztui.base.text import several
from fuzztui.model.mutants import Summary
from fuzztui.tui.base import format
from fuzztui.tui.base.bars import apportion
from fuzztui.tui.base.canvas import Line, TextSpan, spread, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.strip import ChoiceStrip
from fuzztui.tui.labels.mutants import GROUP_LABELS, SIGNS
from fuzztui.tui.labels.status import Status
from fuzztui.wire.events import MutationStats

TIMES = (
    ("original_s", "original", "█", "primary"),
    ("mutants_s", "mutants", "▓", "killed"),
    ("compile_s", "compile", "▒", "rate"),
    ("rest_s", "rest", "░", "muted"),
)
"""Uses of time: field, label, fill and style."""

PRUNED = (
    ("dead", "killed"),
    ("skipped", "skipped"),
    ("unexecuted", "not reached"),
    ("uninfected", "not infected"),
    ("put_off", "deferred"),
)
"""Reasons why (mutant, input) pairs were not run: field and label."""


class MutantStrip(ChoiceStrip):
    """Score, states, time and pairs; fewer lines if there is less room. Empty without mutants."""

    DEFAULT_CSS = "MutantStrip { height: 5; }"

    def __init__(self) -> None:
        super().__init__()
        self.groups: Mapping[str, int] = {}
        """The number of survivors in each group."""

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw score, bar and legend, then time and pairs in two lines or one."""
        status, analysis = self._status, self._status.analysis
        if status.mutants is None:
            return []
        lines: list[Line] = [_score(status, status.mutants, width)]
        lines.append([TextSpan(" "), *state_bar(status.mutants, width - 2)])
        lines.append(_legend(status.mutants, self.groups, width))
        if analysis is None:
            lines.append(
                [TextSpan(" waiting for the first statistics of mutation analysis…", "muted")]
            )
        elif height >= 5:
            lines += [_times(analysis, width), _pairs(analysis, width)]
        else:
            lines.append(with_audits(brief_times(analysis), analysis, width))
        return lines


def _score(status: Status, s: Summary, width: int) -> Line:
    left = [
        TextSpan(f" score {s.at_least}", "muted"),
        TextSpan(format.score(s.score), "bold killed"),
        TextSpan(f"  {s.killed:,} of {s.total - s.invalid:,} killed"),
    ]
    if status.lost:
        left.append(TextSpan(", as far as known", "muted"))
    adjusted: list[TextSpan] = []
    if s.skipped or s.equivalent:
        adjusted = [
            TextSpan("  (adjusted: ", "muted"),
            TextSpan(format.score(s.adjusted), "bold"),
            TextSpan(")", "muted"),
        ]
    last: list[TextSpan] = []
    if status.last_kill_t >= 0:
        last = [TextSpan(f"last kill {status.when(status.last_kill_t)} ", "muted")]
    if status.analysis is None or not status.analysis.phase or status.over:
        return spread([*left, *adjusted], last, width)
    activity = [TextSpan(f"{activity_text(status.analysis, s)}  ", "bold pending")]
    # What runs now matters more than the last kill and the adjusted score.
    for start, note in (
        ([*left, *adjusted], [*activity, *last]),
        ([*left, *adjusted], activity),
        (left, activity),
        (left[:2], activity),
    ):
        if width_of([*start, *note]) < width:
            return spread(start, note, width)
    return activity


def activity_text(analysis: MutationStats, s: Summary) -> str:
    """Return what the analysis is doing, other than the normal loop; of a pass, what is left."""
    if analysis.phase != "exact" or s.unsettled < 0:
        return "exact pass…" if analysis.phase == "exact" else f"{plain(analysis.phase, 20)}…"
    left = f", {format.span(s.left_s)}" if s.left_s >= 0 else ""
    used = f", {format.percent(s.pass_share, 1)} of its budget" if s.pass_share > 0 else ""
    return f"exact pass: {format.count(s.unsettled)} pairs{left} left{used}"


def state_bar(s: Summary, width: int) -> list[TextSpan]:
    """Return all mutants as one bar of states; each present state is visible."""
    parts = [(sign, getattr(s, sign.state)) for sign in SIGNS.values()]
    cells = apportion([n for _, n in parts], width)
    return [
        TextSpan(sign.fill * n, sign.style, sign.state)
        for (sign, _), n in zip(parts, cells, strict=True)
        if n
    ]


def _legend(s: Summary, groups: Mapping[str, int], width: int) -> Line:
    """The states and, as far as there is room, the groups of survivors."""
    line = [TextSpan(" ")]
    for sign in SIGNS.values():
        count = getattr(s, sign.state)
        if count or sign.state in ("killed", "alive"):
            line += [
                TextSpan(f"{sign.fill} ", sign.style, sign.state),
                TextSpan(f"{sign.state} {count:,}", "", sign.state),
                TextSpan("  "),
            ]
    static = [TextSpan(f"({s.static:,} static)", "muted")] if s.static else []
    mark: list[TextSpan] = [TextSpan(" survivors:", "muted")]
    for name, label in GROUP_LABELS.items():
        if n := groups.get(name):
            mark += [TextSpan(" "), TextSpan(f"{label} {n:,}", "", name), TextSpan(" ")]
    if len(mark) > 1 and width_of(line) + width_of(mark) < width:
        line += mark
    return [*line, *static] if width_of([*line, *static]) < width else line


def _times(a: MutationStats, width: int) -> Line:
    parts = _seconds(a)
    total = sum(parts)
    left = [TextSpan(" time  ", "muted")]
    for (_, words, fill, style), part in zip(TIMES, parts, strict=True):
        left += [TextSpan(f"{fill} ", style), TextSpan(f"{words} {format.percent(part, total)}  ")]
    if a.share >= 0:
        left.append(TextSpan(f"schedule {format.percent(a.share, 1)} of trials  ", "muted"))
    if a.backlog:
        left.append(TextSpan(f"backlog {format.count(a.backlog)}  ", "muted"))
    room = min(40, width - width_of(left) - 1)
    if room >= 8 and total > 0:
        for (_, _, fill, style), n in zip(TIMES, apportion(parts, room), strict=True):
            left.append(TextSpan(fill * n, style))
    return left


def _seconds(a: MutationStats) -> list[float]:
    return [max(0.0, getattr(a, name)) for name, *_ in TIMES]


def brief_times(a: MutationStats) -> list[TextSpan]:
    """Return the use of time as text."""
    parts = _seconds(a)
    spans = [TextSpan(" time ", "muted")]
    for (_, words, _, style), part in zip(TIMES, parts, strict=True):
        spans += [
            TextSpan(f" {words} ", "muted"),
            TextSpan(format.percent(part, sum(parts)), style),
        ]
    return spans


def _pairs(a: MutationStats, width: int) -> Line:
    """Runs and pruned pairs; reasons that do not fit are left out."""
    pruned = sum(getattr(a, name) for name, _ in PRUNED)
    total = pruned + a.runs
    audits = _audits(a)
    spans = [
        TextSpan(" pairs ", "muted"),
        TextSpan(f"{format.count(a.runs)} run", "bold"),
        TextSpan(f"  {format.percent(pruned, total)} pruned:", "muted"),
    ]
    for name, words in PRUNED:
        if part := getattr(a, name):
            reason = TextSpan(f"  {words} {format.percent(part, total)}")
            if width_of([*spans, reason, *audits]) < width:
                spans.append(reason)
    return with_audits(spans, a, width)


def _audits(a: MutationStats) -> list[TextSpan]:
    """The number of audits, or a warning if a pruned pair would have killed."""
    if a.audit_kills:
        audits = f"{a.audit_kills:,} of {format.count(a.audits)} audits"
        return [TextSpan(f" ✗ PRUNING IS NOT SOUND: {audits} killed ", "bold failed")]
    if not a.audits:
        return []
    return [TextSpan("✓ ", "valid"), TextSpan(f"{several(a.audits, 'audit')} ", "muted")]


def with_audits(line: Line, a: MutationStats, width: int) -> Line:
    """Return ``line`` with the audits at its end, or a warning in front."""
    audits = _audits(a)
    return [*audits, *line] if a.audit_kills else spread(line, audits, width)
