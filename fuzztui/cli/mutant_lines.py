"""Format counts of mutants and findings, and the score, as short lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap

from fuzztui.cli.output import duration
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.finding_tallies import FindingTally, listed, tallies
from fuzztui.kernel.model.mutants import (
    NOT_RUN,
    UNREACHED,
    Summary,
    mutants_summary,
    uncompared_text,
)
from fuzztui.kernel.model.selectors import ENDED, totals
from fuzztui.kernel.model.state import State

_BY_INTEREST = (
    "killed", "alive", NOT_RUN, UNREACHED, "pending", "skipped", "equivalent", "invalid",
)  # fmt: skip


MIN_CHANGE = 12
"""Minimum number of columns in which the change of a mutant is shown."""


_WIDTH = 68
"""Columns of the counts in ``status``."""


def cut(text: str, width: int) -> str:
    """Cut a text to ``width`` columns."""
    return text if len(text) <= width else text[: width - 1] + "…"


def percent(part: float | None) -> str:
    """Format a share as a percentage; a dash if there is none."""
    return "-" if part is None else f"{part:.1%}"


def grouped(found: FindingTally) -> str:
    """Format the number of findings: ``3 groups (12 files), 4 not examined yet``."""
    left = f"{found.unexamined:,} not examined yet"
    if not found.groups:
        return left if found.unexamined else f"{found.files:,}"
    files = found.files - found.unexamined
    if files <= found.groups and not found.unexamined:
        return f"{found.files:,}"
    text = several(found.groups, "group") + (f" ({files:,} files)" if files > found.groups else "")
    return f"{text}, {left}" if found.unexamined else text


def found_rows(state: State, *, at_least: bool = False) -> Iterator[tuple[str, str]]:
    """The rows of ``fuzztui status`` about findings; ``at_least``: numbers are lower bounds."""
    found, not_saved = tallies(state), totals(state).stats.findings_not_saved
    for kind, tally in listed(found):
        least = "at least " if at_least or (not_saved > 0 and tally.files) else ""
        yield kind.label, least + grouped(tally) + _judged(tally)
    if not_saved > 0:
        findings = several(not_saved, "distinct finding")
        yield "not saved", f"at least {findings} (engine.max_findings)"


def _judged(found: FindingTally) -> str:
    """How many groups are open, if a user has judged any."""
    if not found.judged and not found.regressions:
        return ""
    new = found.open - found.regressions
    counts = ((new, "new"), (found.regressions, "regression"), (found.judged, "judged"))
    parts = [several(n, w) if w == "regression" else f"{n:,} {w}" for n, w in counts if n]
    return f": {', '.join(parts)}"


def _counts(s: Summary, states: Iterable[str]) -> list[str]:
    counts = [f"{n:,} {word}" for word in states if (n := s.count(word))]
    return counts + [f"{s.accepted:,} of the survivors accepted"] * bool(s.accepted)


def summary_line(s: Summary) -> str:
    """Format the number of mutants in each state, and the score."""
    counts = _counts(s, _BY_INTEREST)
    line = several(s.total, "mutant") + (f": {', '.join(counts)}" if counts else "")
    if s.static:
        line += f"; {s.static:,} of all are static"
    line += excluded_text(s.excluded)
    if s.killed:
        line += f"; score {score_text(s)}"
    return line


def excluded_text(n: int) -> str:
    """``; 14 excluded by pragma``; an empty string for 0."""
    return f"; {n:,} excluded by pragma" if n else ""


def score_text(s: Summary) -> str:
    """Format the score and, if it differs, the adjusted score."""
    score = f"{s.at_least}{percent(s.score)}"
    if s.adjusted == s.score:
        return score
    return f"{score} ({percent(s.adjusted)} without skipped and equivalent)"


def exact_pass(s: Summary, inputs: int) -> str:
    """Format the progress of an exact pass. ``inputs``: those that wait, for older engines."""
    if s.unsettled < 0:
        return f"exact pass, {several(inputs, 'input')} to go"
    left = f", about {duration(s.left_s)} left" if s.left_s >= 0 else ""
    left += f", {s.pass_share:.0%} of its budget used" if s.pass_share > 0 else ""
    return f"exact pass, {several(s.unsettled, 'pair')} of mutants and inputs to go{left}"


def status_rows(state: State) -> Iterator[tuple[str, str]]:
    """The rows of ``status`` about mutants: counts, score, and how the time was used."""
    if not state.mutants or state.stage:
        return
    s = mutants_summary(state)
    counts = f"{s.total:,}: {', '.join(_counts(s, _BY_INTEREST))}{excluded_text(s.excluded)}"
    for n, line in enumerate(wrap(counts, _WIDTH)):  # very large figures
        yield "" if n else "mutants", line
    yield "score", score_text(s)
    stats = state.mutation.values()
    spent = [
        ("target", sum(f.original_s for f in stats)),
        ("mutants", sum(f.mutants_s for f in stats)),
        ("compiling", sum(f.compile_s for f in stats)),
        ("other", sum(f.rest_s for f in stats)),
    ]
    whole = sum(seconds for _, seconds in spent)
    if whole > 0:
        yield "time", ", ".join(f"{name} {seconds / whole:.0%}" for name, seconds in spent)
    if text := uncompared_text(state):
        yield "compared", text
    if state.state not in ENDED and any(f.phase for f in stats):
        yield "now", exact_pass(s, sum(f.backlog for f in stats))
    elif state.state in ENDED and s.unsettled > 0:
        pairs = several(s.unsettled, "pair")
        yield "unsettled", f"{pairs} of mutants and inputs; 'fuzztui score RUN' runs them"
    if wrong := sum(f.audit_kills for f in stats):
        audits = sum(f.audits for f in stats)
        yield "audit", f"{wrong:,} of {audits:,} audited pruned pairs kill: please report this bug"
