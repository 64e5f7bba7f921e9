"""The strip above the worklist: budget, running turns, progress, score, gains."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.features.fuzzfirst.screen.worklist import STAGES, FuzzfirstSummary, progress_label
from fuzztui.features.fuzzfirst.screen.worklist_text import (
    allowed,
    eta_text,
    phase_text,
    remaining_text,
    spent_text,
    transferred_text,
    used_text,
)
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.progress import NO_TURN, PHASES
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import gauge
from fuzztui.tui.base.canvas import Line, TextSpan, spread, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.wrap import flow, wrap
from fuzztui.tui.frame.strip import INDENT, ChoiceStrip
from fuzztui.tui.labels.mutants import SIGNS, brief_place
from fuzztui.tui.labels.status import Status

BAR = 24
"""Maximal cells of the bar in the folded strip."""

MIN_BAR = 16
"""Cells below which the bar of the phases is left out."""

NAMED = 3
"""Maximal number of running mutants that are named."""

_PHASE_SIGNS = {"at work": STAGES["fuzzing"], "waiting": STAGES["queued"], **SIGNS, **STAGES}


class QueueStrip(ChoiceStrip):
    """One line: the phase, how many mutants had a turn, and when the target follows.

    Opened: phases, running turns, progress, score and gains, with their meaning.
    """

    first: FuzzfirstSummary | None = None
    """What is drawn; None if the campaign has no worklist."""

    def folded(self, width: int) -> Line:
        """Return the phase, a bar of both phases, and what the mutants have brought."""
        return [] if self.first is None else folded_line(self._status, self.first, width)

    def unfolded(self, width: int) -> Sequence[Line]:
        """Return all figures."""
        first = self.first
        if first is None:
            return []
        return [
            phase_line(self._status, first, width),
            *self.meaning(
                width,
                "mutants are fuzzed one after the other, each for its turn",
                "then the target, with the inputs that they found",
            ),
            work_line(first, width),
            *_legend(first, width),
            _score(self._status),
            *self.meaning(width, "of the mutants with a verdict: those that an input kills"),
            *wrap(gains(first), width),
            *self.meaning(width, "the transfer: what inputs of mutants have brought the target"),
        ]


def folded_line(status: Status, first: FuzzfirstSummary, width: int) -> Line:
    """Return the phase with its bar, the numbers of mutants, and the next phase, as far as they
    fit.
    """
    here = first.stage == "mutants"
    words = _activity(status, first)
    head = [
        TextSpan(f" {phase_text(first)}: ", "bold"),
        TextSpan(f"{words} ", "bold running" if here and not status.over else "bold"),
        *phase_bar(status, first, max(MIN_BAR // 2, min(BAR, width // 6))),
    ]
    killed, _ = (0, 0) if status.mutants is None else status.mutants.scored
    total = first.phases.total()
    turns = first.phases["done"]
    brought = f", {words}" if (words := transferred_text(first.brought)) else ""
    counts = f"  {turns:,} of {several(total, 'mutant')} had a turn, {killed:,} killed"
    brief = f"  {turns:,} of {several(total, 'mutant')} done"
    right = [TextSpan(f"  {eta} ", "bold primary")] if (eta := eta_text(first)) else []
    for last in (right, []):  # when the target follows matters more than the numbers
        for text in (counts + brought, counts, brief, ""):
            line = [*head, *([TextSpan(text)] if text else [])]
            if width_of([*line, *last]) < width:
                return spread(line, last, width) if last else line
    return head


def phase_line(status: Status, first: FuzzfirstSummary, width: int) -> Line:
    """Return the phase: a bar of both phases with the used share, and the remaining time."""
    here = first.stage == "mutants"
    # In the target phase the mutants' real budget counts, not the plan.
    budget = allowed(first.view.of if here else first.view.used, trials=first.view.trials)
    spent = spent_text(first.view.used, first.view.of, trials=first.view.trials)
    words = _activity(status, first)
    if here and first.why and not status.over:
        words = f"mutants, {first.why}"
    left = [
        TextSpan(f" {phase_text(first)}  ", "bold"),
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


def _activity(status: Status, first: FuzzfirstSummary) -> str:
    """Return what is fuzzed now, or was at the end."""
    if first.stage == "mutants":
        return f"mutants {'were' if status.over else 'are'} fuzzed"
    return f"the target {'was' if status.over else 'is'} fuzzed"


def phase_bar(status: Status, first: FuzzfirstSummary, width: int) -> list[TextSpan]:
    """Return a bar of mutants | target; the boundary is where the mutants' budget ends.

    In rounds: a bar of the whole budget, in the colour of what is fuzzed now.
    """
    over = first.stage != "mutants"
    if first.round >= 0:
        used = status.stats.execs if status.budget_trials else status.running_s
        full, rest = gauge(used / max(1.0, status.budget_trials or status.budget_s), width)
        return [TextSpan(full, "primary" if over else "killed"), TextSpan(rest, "gauge")]
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


def _legend(first: FuzzfirstSummary, width: int) -> list[Line]:
    """Number of mutants by progress."""
    parts: list[Line] = []
    for phase in PHASES:
        if count := first.phases[phase]:
            sign = _PHASE_SIGNS[phase]
            over = phase == "waiting" and not first.can_run
            words = f"{NO_TURN if over else progress_label(phase)} {count:,}  "
            parts.append(
                [TextSpan(f"{sign.glyph} ", sign.style, phase), TextSpan(words, "", phase)]
            )
    return flow([TextSpan(" " * INDENT)], parts, width, INDENT)


def _score(status: Status) -> Line:
    if (s := status.mutants) is None:
        return []
    killed, judged = s.scored
    return [
        TextSpan(" score ", "muted"),
        TextSpan(format.score(s.score), "bold killed"),
        TextSpan(f"  {killed:,} of {several(judged, 'mutant')} killed"),
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
