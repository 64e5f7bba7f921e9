"""The strip above the worklist: budget, running turns, progress, score, gains."""

from __future__ import annotations

from fuzztui.base.text import several
from fuzztui.model.progress import PHASES
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import gauge
from fuzztui.tui.base.canvas import Line, TextSpan, spread, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.strip import ChoiceStrip
from fuzztui.tui.labels.mutants import SIGNS, brief_place
from fuzztui.tui.labels.status import Status
from fuzztui.tui.labels.worklist import STAGES, FuzzfirstSummary, progress_label
from fuzztui.tui.labels.worklist_text import (
    allowed,
    eta_text,
    remaining_text,
    spent_text,
    transferred_text,
    used_text,
)

MIN_BAR = 16
"""Cells below which the bar of the phases is left out."""

NAMED = 3
"""Maximal number of running mutants that are named."""

_PHASE_SIGNS = {"at work": STAGES["fuzzing"], "waiting": STAGES["queued"], **SIGNS, **STAGES}


class QueueStrip(ChoiceStrip):
    """Phases, running turns, progress, score and gains; fewer lines if there is less room."""

    DEFAULT_CSS = "QueueStrip { height: 5; }"

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the bar of both phases first: in a strip of one line it is the only one."""
        first = self._status.first
        if first is None:
            return []
        lines: list[Line] = [phase_line(self._status, first, width), work_line(first, width)]
        lines.append(_legend(first, width))
        if height >= 5:
            lines.append(_score(first))
        lines.append(gains(first) if height >= 5 else _score(first))
        return lines


def phase_line(status: Status, first: FuzzfirstSummary, width: int) -> Line:
    """Return the phase: a bar of both phases with the used share, and the remaining time."""
    here = first.stage == "mutants"
    # In the target phase the mutants' real budget counts, not the plan.
    budget = allowed(first.view.of if here else first.view.used, trials=first.view.trials)
    spent = spent_text(first.view.used, first.view.of, trials=first.view.trials)
    what, verb = ("mutants", ("are", "were")) if here else ("the target", ("is", "was"))
    words = f"{what} {verb[status.over]} fuzzed"
    left = [
        TextSpan(" phase ", "muted"),
        TextSpan(f"{1 if here else 2} of 2  ", "bold"),
        TextSpan(f"{words}  ", "bold running" if here and not status.over else "bold"),
    ]
    right = [TextSpan(f"  {spent if here else budget} for mutants", "")]
    if eta := "" if status.over else eta_text(first):
        right.append(TextSpan(f"  {eta}", "bold primary"))
    right.append(TextSpan(" "))
    room = width - width_of(left) - width_of(right)
    if room < MIN_BAR:
        right = [TextSpan(f"  {eta or f'{budget} for mutants'} ", "bold primary" if eta else "")]
        room = width - width_of(left) - width_of(right)
    if room < MIN_BAR:
        return spread(left, right, width)
    return [*left, *phase_bar(status, first, room), *right]


def phase_bar(status: Status, first: FuzzfirstSummary, width: int) -> list[TextSpan]:
    """Return a bar of mutants | target; the boundary is where the mutants' budget ends."""
    over = first.stage != "mutants"
    of = first.view.used if over else first.view.of
    whole = status.budget_trials if first.view.trials else status.budget_s
    share = min(0.95, max(0.05, of / whole)) if whole > 0 and first.view.of > 0 else 0.5
    mutants = max(1, min(width - 2, round((width - 1) * share)))
    target = width - 1 - mutants
    full, rest = gauge(1.0 if over else first.share, mutants)
    done, todo = gauge(_target_share(status, first) if over else 0.0, target)
    return [
        TextSpan(full, "killed"),
        TextSpan(rest, "gauge"),
        TextSpan("┃", "bold"),
        TextSpan(done, "primary"),
        TextSpan(todo, "gauge"),
    ]


def _target_share(status: Status, first: FuzzfirstSummary) -> float:
    """The used share of the target's budget."""
    spent, left = status.now - first.stage_t, status.budget_s - status.running_s
    if first.view.trials:
        spent = status.stats.execs - first.view.used
        left = float(status.budget_trials - status.stats.execs)
    return spent / (spent + left) if spent > 0 and left > 0 else float(spent > 0)


def work_line(first: FuzzfirstSummary, width: int) -> Line:
    """Return the running mutants, as many as fit, and how many more the budget allows."""
    words = remaining_text(first)
    brief = f"{first.view.left:,} of {first.view.waiting:,} more"
    if first.stage != "mutants":
        return spread(_workers(first, NAMED), [TextSpan(f"{words} ", "muted")], width)
    for named in range(NAMED, -1, -1):
        line = _workers(first, named)
        room = width - width_of(line) - 2
        if len(brief) <= room:
            break
    return spread(line, [TextSpan(f"{words if len(words) <= room else brief} ", "muted")], width)


def _workers(first: FuzzfirstSummary, named: int) -> list[TextSpan]:
    """The first ``named`` running mutants, with the used part of their budgets."""
    line: list[TextSpan] = [TextSpan(" now   ", "muted")]
    for mutant, used, of in first.working[:named]:
        style = STAGES[mutant.stage].style
        full, rest = gauge(used / of if of > 0 else 0.0, 8)
        line += [
            TextSpan(f"{STAGES[mutant.stage].glyph} ", style),
            TextSpan(f"{plain(mutant.slot, 12)} ", "bold"),
            TextSpan(f"{plain(brief_place(mutant), 40)} ", ""),
            TextSpan(full, style),
            TextSpan(rest, "gauge"),
            TextSpan(f" {used_text(used, of, trials=first.view.trials)}   ", "muted"),
        ]
    if (more := len(first.working) - named) > 0:
        words = f"and {more} more   " if named else f"{several(more, 'mutant')}   "
        line.append(TextSpan(words, "muted"))
    if not first.working:
        words = "no mutant is running   " if first.stage == "mutants" else "only the target   "
        line.append(TextSpan(words, "muted"))
    return line


def _legend(first: FuzzfirstSummary, width: int) -> Line:
    """Number of mutants by progress; names that do not fit are left out."""
    parts = [(phase, first.phases[phase]) for phase in PHASES if first.phases[phase]]
    for worded in range(len(parts), -1, -1):
        line = [TextSpan("       ")]
        for n, (phase, count) in enumerate(parts):
            sign = _PHASE_SIGNS[phase]
            words = f"{progress_label(phase)} " if n < worded else ""
            line += [
                TextSpan(f"{sign.glyph} ", sign.style, phase),
                TextSpan(f"{words}{count:,}", "", phase),
                TextSpan("  "),
            ]
        if width_of(line) <= width:
            break
    return line


def _score(first: FuzzfirstSummary) -> Line:
    return [
        TextSpan(" score ", "muted"),
        TextSpan(format.score(first.score), "bold killed"),
        TextSpan(f"  {first.killed:,} of {several(first.judged, 'mutant')} killed"),
    ]


def gains(first: FuzzfirstSummary) -> Line:
    """Return what mutants have transferred to the target."""
    words = transferred_text(first.brought)
    line = [TextSpan(" gain  ", "muted")]
    if not words:
        return [*line, TextSpan("nothing was transferred to the target yet", "muted")]
    line.append(TextSpan(f"{words} of the target", "bold valid"))
    if aside := first.brought.get("aside", 0):
        words = "pruned input: it fails" if aside == 1 else "pruned inputs: they fail"
        line.append(TextSpan(f"   {format.count(aside)} {words} on mutants", "muted"))
    return line
