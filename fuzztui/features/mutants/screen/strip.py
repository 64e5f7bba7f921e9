"""The strip above the mutants table: score and what is left; opened: all figures explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuzztui.features.mutants.scores import CodeScores
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.mutants import (
    NOT_RUN,
    RAN,
    REACHED,
    UNKNOWN_REACH,
    UNREACHED,
    WAITS,
    Summary,
)
from fuzztui.kernel.wire.events import MutationStats
from fuzztui.kernel.wire.verdicts import ACCEPTED
from fuzztui.tui.base import format
from fuzztui.tui.base.bars import apportion
from fuzztui.tui.base.canvas import Line, TextSpan, spread, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.wrap import flow
from fuzztui.tui.frame.strip import INDENT, MAIN, ChoiceStrip
from fuzztui.tui.labels.mutants import GROUP_LABELS, SIGNS
from fuzztui.tui.labels.status import Status

TIMES = (
    ("original_s", "target", "█", "primary"),
    ("mutants_s", "mutants", "▓", "killed"),
    ("compile_s", "compiling", "▒", "rate"),
    ("rest_s", "other", "░", "muted"),
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


BAR = 24
"""Cells of the bar in the folded strip, and at most a fifth of the width."""

_LEFT_TEXTS = {
    RAN: "ran and made no difference",
    WAITS: "are still to be run",
    NOT_RUN: "were not run",
    REACHED: "were reached and never infected",
    UNREACHED: "were never reached",
    UNKNOWN_REACH: "were never infected",
}
"""Texts about the survivors of a group."""


_MEANINGS = {
    RAN: "no difference: run, with the same result",
    WAITS: "still to run: infected, or static",
    NOT_RUN: "not run: the end came before; 'fuzztui score RUN' settles them",
    REACHED: "never infected: reached, always with the same value",
    UNREACHED: "never reached: no input executes them",
    UNKNOWN_REACH: "never infected: no input gave another value",
}
"""What the names of the groups of survivors mean."""


class MutantStrip(ChoiceStrip):
    """One line: score, bar, and what is left. Opened: all figures, with their meaning."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = CodeScores()

    def folded(self, width: int) -> Line:
        """Return score, bar and what is left; an alarm of the audits in front."""
        status, analysis = self._status, self._status.analysis
        if status.mutants is None:
            return []
        line = folded_line(status, status.mutants, self.scores, width)
        alarm = _audits(analysis) if analysis is not None and analysis.audit_kills else []
        return [*alarm, *line]

    def unfolded(self, width: int) -> Sequence[Line]:
        """Return each figure with its meaning below it."""
        status, analysis = self._status, self._status.analysis
        s = status.mutants
        if s is None:
            return []
        lines: list[Line] = [_score(status, s, width)]
        lines.append([TextSpan(" "), *state_bar(s, width - 2)])
        groups = +self.scores.groups
        lines += [*_legend(s, width), *_survivors(s, groups, width)]
        meanings = dict.fromkeys(_MEANINGS[group] for group in GROUP_LABELS if groups.get(group))
        lines += self.meaning(width, *meanings, level=MAIN)
        if analysis is None:
            words = " waiting for the first statistics of mutation analysis…"
            return [*lines, [TextSpan(words, "muted")]]
        return [
            *lines,
            *_times(analysis, width),
            *self.meaning(
                width, "running the target itself, its mutants, compiling these, other work"
            ),
            _schedule(analysis),
            *self.meaning(width, "trials that run mutants at once; pairs that are still to run"),
            *_pairs(analysis, width),
            *self.meaning(
                width,
                "a pair is one mutant on one input",
                "pruned: not run, because it cannot kill",
                "some of these are run all the same, as a check",
            ),
        ]


def folded_line(status: Status, s: Summary, scores: CodeScores, width: int) -> Line:
    """Return score, bar, what is left, and what runs now or the last kill, as far as they fit."""
    score: list[TextSpan] = [
        TextSpan(f" {'≥' * (s.exact is False)}{format.score(s.score)} ", "bold killed"),
        *state_bar(s, min(BAR, width // 5)),
    ]
    counts: list[TextSpan] = [
        TextSpan(f"  {several(s.total - s.invalid, 'mutant')}: "),
        TextSpan(f"{s.killed:,} killed", "", "killed"),
    ]
    counts += _left(s)
    brief: list[TextSpan] = [
        TextSpan(f"  {s.killed:,} of {s.total - s.invalid:,} killed", "", "killed"),
        *_left(s),
    ]
    right: Line = []
    if status.analysis is not None and status.analysis.phase and not status.over:
        right = [TextSpan(f"  {activity_text(status.analysis, s)} ", "bold pending")]
    lost = [TextSpan(", as far as known", "muted")] * bool(status.lost)
    lines: tuple[Line, ...] = (
        [*counts, *lost, *_where(scores)], [*counts, *lost], [*brief, *lost], brief[:1], [],
    )  # fmt: skip
    for last in (right, []):  # what runs now matters more than what is left
        for line in lines:
            if width_of([*score, *line, *last]) <= width:
                return spread([*score, *line], last, width) if last else [*score, *line]
    return score


def _left(s: Summary) -> list[TextSpan]:
    """The numbers of survivors, each as a filter."""
    spans: list[TextSpan] = []
    for state in ("alive", "pending", NOT_RUN, UNREACHED):
        if n := s.count(state):
            spans += [TextSpan(", "), TextSpan(f"{n:,} {state}", "bold", state)]
    if not spans:
        spans = [TextSpan(", none is left", "valid")]
    if s.accepted:
        spans.append(TextSpan(f" ({s.accepted:,} of them accepted)", "muted", ACCEPTED))
    if skipped := s.skipped + s.equivalent:
        spans.append(TextSpan(f", {skipped:,} skipped", "muted"))
    return spans


def _where(scores: CodeScores) -> list[TextSpan]:
    """Where most mutants are left, and what is known of most of these."""
    worst = scores.worst
    if worst is None or len(+worst.groups) == 0:
        return []
    group, n = worst.groups.most_common(1)[0]
    where = worst.function.rpartition(".")[2] or worst.file.rpartition("/")[2]
    words = _LEFT_TEXTS[group]
    if n == 1:
        words = words.replace("were", "was", 1).replace("are", "is", 1)
    return [TextSpan(f"; {n:,} in {plain(where, 30)} {words}", "muted")]


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
    parts = [(sign, s.count(sign.state)) for sign in SIGNS.values()]
    cells = apportion([n for _, n in parts], width)
    return [
        TextSpan(sign.fill * n, sign.style, sign.state)
        for (sign, _), n in zip(parts, cells, strict=True)
        if n
    ]


def _legend(s: Summary, width: int) -> list[Line]:
    """The states and their numbers, in the order of the bar."""
    parts: list[Line] = [
        [
            TextSpan(f"{sign.fill} ", sign.style, sign.state),
            TextSpan(f"{sign.state} {count:,}  ", "", sign.state),
        ]
        for sign in SIGNS.values()
        if (count := s.count(sign.state)) or sign.state in ("killed", "alive")
    ]
    if s.static:
        parts.append([TextSpan(f"{s.static:,} of all {s.total:,} are static ", "muted")])
    if s.excluded:
        parts.append([TextSpan(f"{s.excluded:,} excluded by pragma ", "muted")])
    return flow([TextSpan(" ")], parts, width, 1)


def _survivors(s: Summary, groups: Mapping[str, int], width: int) -> list[Line]:
    """The groups of the mutants that are left."""
    parts = [
        [TextSpan(f"{label} {n:,}  ", "", name)]
        for name, label in GROUP_LABELS.items()
        if (n := groups.get(name))
    ]
    head = TextSpan(f" {several(s.left, 'survivor')}:  ", "muted")
    return flow([head], parts, width, INDENT) if parts else [[TextSpan(" no survivors", "valid")]]


def _times(a: MutationStats, width: int) -> list[Line]:
    """Uses of time, with a bar if one line has room for it."""
    seconds = _seconds(a)
    total = sum(seconds)
    parts: list[Line] = [
        [TextSpan(f"{fill} ", style), TextSpan(f"{words} {format.percent(part, total)}  ")]
        for (_, words, fill, style), part in zip(TIMES, seconds, strict=True)
    ]
    lines = flow([TextSpan(" time  ", "muted")], parts, width, INDENT)
    room = min(40, width - width_of(lines[0]) - 1)
    if len(lines) == 1 and room >= 8 and total > 0:
        cells = zip(TIMES, apportion(seconds, room), strict=True)
        lines = [[*lines[0], *(TextSpan(fill * n, style) for (_, _, fill, style), n in cells)]]
    return lines


def _schedule(a: MutationStats) -> Line:
    share = format.percent(a.share, 1) if a.share >= 0 else format.NONE
    return [
        TextSpan(" while fuzzing  ", "muted"),
        TextSpan(f"schedule {share} of trials  backlog {format.count(a.backlog)}"),
    ]


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


def _pairs(a: MutationStats, width: int) -> list[Line]:
    """Runs and pruned pairs, with the reasons."""
    pruned = sum(getattr(a, name) for name, _ in PRUNED)
    total = pruned + a.runs
    head = [
        TextSpan(" pairs ", "muted"),
        TextSpan(f"{format.count(a.runs)} run", "bold"),
        TextSpan(f"  {format.percent(pruned, total)} pruned:", "muted"),
    ]
    parts: list[Line] = [
        [TextSpan(f"  {words} {format.percent(part, total)}")]
        for name, words in PRUNED
        if (part := getattr(a, name))
    ]
    if a.audit_kills:
        head = [*_audits(a), *head]
    elif a.audits:
        parts.append([TextSpan("  "), *_audits(a)])
    return flow(head, parts, width, INDENT - 2)


def _audits(a: MutationStats) -> list[TextSpan]:
    """The number of audits, or a warning if a pruned pair would have killed."""
    if a.audit_kills:
        audits = f"{a.audit_kills:,} of {format.count(a.audits)} audits"
        return [TextSpan(f" ✗ PRUNING IS NOT SOUND: {audits} killed ", "bold failed")]
    if not a.audits:
        return []
    checked = several(a.audits, "pruned pair")
    return [TextSpan("✓ ", "valid"), TextSpan(f"{checked} checked ", "muted")]


def with_audits(line: Line, a: MutationStats, width: int) -> Line:
    """Return ``line`` with the audits at its end, or a warning in front."""
    audits = _audits(a)
    return [*audits, *line] if a.audit_kills else spread(line, audits, width)
