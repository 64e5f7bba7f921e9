"""Mutants in a line or two of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fuzztui.base.text import several
from fuzztui.model.mutation_score import Summary, mutants_summary
from fuzztui.model.selectors import FindingTally, tallies, totals
from fuzztui.model.state import State

_BY_INTEREST = ("killed", "alive", "pending", "skipped", "equivalent", "invalid")


MIN_CHANGE = 12
"""Columns below which a change is not worth showing."""


def cut(text: str, width: int) -> str:
    """At most ``width`` columns of a text."""
    return text if len(text) <= width else text[: width - 1] + "…"


def percent(part: float | None) -> str:
    """A score for users."""
    return "-" if part is None else f"{part:.1%}"


def grouped(found: FindingTally) -> str:
    """How many findings of a kind: groups, and files where those are more."""
    if found.files <= found.groups or not found.groups:
        return f"{found.files:,}"
    return f"{several(found.groups, 'group')} ({found.files:,} files)"


def found_rows(state: State, *, at_least: bool = False) -> Iterator[tuple[str, str]]:
    """The rows of ``fuzztui status`` about findings; ``at_least``: figures are lower bounds."""
    found, not_saved = tallies(state), totals(state).findings_not_saved
    for row, category in (("crashes", "crash"), ("hangs", "hang"), ("differs", "differs")):
        tally = found[category]
        if tally.files or category != "differs":
            least = "at least " if at_least or (not_saved > 0 and tally.files) else ""
            yield row, least + grouped(tally)
    if not_saved > 0:
        findings = several(not_saved, "distinct finding")
        yield "not saved", f"at least {findings} (engine.max_findings)"


def _words(s: Summary, states: Iterable[str]) -> list[str]:
    return [f"{n:,} {word}" for word in states if (n := getattr(s, word))]


def summary_line(s: Summary) -> str:
    """How many are in each state, and the score."""
    words = _words(s, _BY_INTEREST)
    line = several(s.total, "mutant") + (f": {', '.join(words)}" if words else "")
    if s.static:
        line += f"; {s.static:,} run only at import"
    if s.killed:
        line += f"; score {percent(s.score)}"
        if s.adjusted != s.score:
            line += f" ({percent(s.adjusted)} without skipped and equivalent)"
    return line


def status_rows(state: State) -> Iterator[tuple[str, str]]:
    """The rows of ``status`` about mutants: how many, what the score is, where the time went."""
    if not state.mutants or state.stage:
        return
    s = mutants_summary(state)
    words = _words(s, ("killed", "alive", "pending", "invalid"))
    yield "mutants", f"{s.total:,}: {', '.join(words)}"
    apart = " and ".join(_words(s, ("skipped", "equivalent")))
    apart = f"; {percent(s.adjusted)} without {apart}" if apart else ""
    yield "score", f"{percent(s.score)}{apart}"
    figures = state.mutation.values()
    spent = [
        ("program", sum(f.original_s for f in figures)),
        ("mutants", sum(f.mutants_s for f in figures)),
        ("compiling", sum(f.compile_s for f in figures)),
        ("the rest", sum(f.rest_s for f in figures)),
    ]
    whole = sum(seconds for _, seconds in spent)
    if whole > 0:
        yield "time", ", ".join(f"{name} {seconds / whole:.0%}" for name, seconds in spent)
    if any(f.phase for f in figures):
        yield "now", f"exact pass, {several(sum(f.backlog for f in figures), 'input')} to go"
    if wrong := sum(f.audit_kills for f in figures):
        audits = sum(f.audits for f in figures)
        yield "audit", f"{wrong:,} of {audits:,} pairs that were left out kill: please report it"
